// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const (
	manyHosts = 30_000
	fewHosts  = 10_000
	// spareFiles is the number of file descriptors that a process needs besides one for each host.
	spareFiles = 2_000
	// hostMemory is the memory of a host in all processes together: API, agents, etcd and
	// kube-apiserver.
	hostMemory = 320 << 10
)

// size of the fleet, and the reason for it.
type size struct {
	Hosts  int    `json:"hosts"`
	Reason string `json:"reason"`
}

func chooseSize() size {
	GinkgoHelper()
	if value := os.Getenv(hostsVariable); value != "" {
		hosts, err := strconv.Atoi(value)
		Expect(err).NotTo(HaveOccurred(), hostsVariable)
		return size{hosts, hostsVariable + " is set"}
	}
	limit := syscall.Rlimit{}
	Expect(syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)).To(Succeed())
	return sizeFor(limit.Max, availableMemory())
}

func sizeFor(files, memory uint64) size {
	switch {
	case files < manyHosts+spareFiles:
		return size{fewHosts, fmt.Sprintf("a process has %d file descriptors, %d hosts need %d", files, manyHosts, manyHosts+spareFiles)}
	case memory < manyHosts*hostMemory:
		return size{fewHosts, fmt.Sprintf("%d MiB of memory are available, %d hosts need %d", memory>>20, manyHosts, manyHosts*hostMemory>>20)}
	}
	return size{manyHosts, "there are file descriptors and memory for them"}
}

// availableMemory in bytes; 0 if the system does not report it.
func availableMemory() uint64 {
	content, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); fields[0] == "MemAvailable:" {
			kibibytes, err := strconv.ParseUint(fields[1], 10, 64)
			Expect(err).NotTo(HaveOccurred(), line)
			return kibibytes << 10
		}
	}
	return 0
}

var _ = DescribeTable("The number of hosts", func(files, memory uint64, hosts int, reason string) {
	Expect(sizeFor(files, memory)).To(And(HaveField("Hosts", hosts), HaveField("Reason", ContainSubstring(reason))))
},
	Entry("on a large machine", uint64(1<<20), uint64(64<<30), manyHosts, ""),
	Entry("with too few file descriptors", uint64(20_000), uint64(64<<30), fewHosts, "file descriptors"),
	Entry("with too little memory", uint64(1<<20), uint64(2<<30), fewHosts, "MiB of memory"),
)
