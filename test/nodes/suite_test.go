// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/repository"
)

const (
	// patience is the timeout of what happens on a host; a boot and an upgrade take longer while others compile.
	patience = 5 * time.Minute
	// assessmentTimeout is what a bad image takes whose kubelet or network does not start.
	assessmentTimeout = 90 * time.Second
	look              = 200 * time.Millisecond
	// binEnv is the environment variable with the path of the elemental toolkit's CLI.
	binEnv = "ELEMENTAL_BIN"
)

var (
	theLab *lab.Lab
	// root of the repository.
	root string
)

// TestMain lets the test binary be GRUB of the hosts.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != grubName {
		os.Exit(m.Run())
	}
	if err := choose(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestNodes(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(look)
	RunSpecs(t, "Nodes")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	if missing := missingHere(); missing != "" {
		Skip("the suite on real nodes is skipped: " + missing)
	}
	var err error
	root, err = repository.Root()
	Expect(err).NotTo(HaveOccurred())
	lock()
	prepareTree()
	prepareSoftware()
	theLab = suite.StartLab(ctx, lab.Options{WithoutKwok: true})
	completeInit(theLab.Workload)
	startCluster(ctx)
})

var _ = suite.TellWhenFailed(func() *lab.Lab { return theLab })

// missingHere describes what this machine lacks.
func missingHere() string {
	if os.Getenv(binEnv) == "" {
		return binEnv + " is not set to the CLI of the elemental toolkit"
	}
	if os.Getuid() != 0 {
		return "it needs root, for mounts, namespaces and control groups"
	}
	for _, file := range []string{"/dev/loop-control", "/sys/fs/cgroup/memory/cgroup.procs"} {
		if _, err := os.Stat(file); err != nil {
			return "it needs loop devices and cgroup v1: " + err.Error()
		}
	}
	if attached, err := exec.Command("losetup", "--list", "--noheadings", "--output", "NAME,BACK-FILE").Output(); err != nil || strings.Contains(string(attached), "COS_STATE") {
		return "loop devices of a run that was killed are attached, which the CLI would write to: detach them with losetup -d\n" + string(attached)
	}
	for _, name := range []string{"systemd-nspawn", "containerd", "runc", "dbus-daemon", "ip", "iptables", "rsync", "mke2fs", "mksquashfs", "grub-editenv"} {
		if _, err := exec.LookPath(name); err != nil {
			return err.Error() + "; hack/test/nodes-packages.sh installs Debian's packages"
		}
	}
	return ""
}

// lock waits until no other suite with the real CLI runs: the CLI treats any snapshot that is attached to a loop device as its own.
func lock() {
	GinkgoHelper()
	file, err := os.OpenFile(filepath.Join(os.TempDir(), "elemental-native.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(file.Close)
	Expect(syscall.Flock(int(file.Fd()), syscall.LOCK_EX)).To(Succeed())
}

// built is a program of this repository or of its tools.
func built(name string) string {
	GinkgoHelper()
	path := filepath.Join(root, "bin", name)
	Expect(path).To(BeARegularFile(), "run make tools tools-nodes lab-binaries")
	return path
}
