// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
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
	// patience is the timeout for what Pods do; they start slowly while others compile.
	patience = 5 * time.Minute
	look     = 500 * time.Millisecond
)

var (
	theLab *lab.Lab
	// root of the repository.
	root string
	// first is the Node of the management cluster, and inside one of the workload cluster, into which that is moved.
	first = &podNode{
		name: "pods-node", link: "elpods0", machine: "10.213.200.1", address: "10.213.200.2", services: "10.0.0.0/24", dns: "10.0.0.10", pods: "10.244.0.0/24",
	}
	inside = &podNode{
		name: "pods-inside", link: "elpods1", machine: "10.213.201.1", address: "10.213.201.2", services: lab.WorkloadServices, dns: "10.0.1.10", pods: "10.244.1.0/24",
	}
)

func TestPods(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(look)
	RunSpecs(t, "Pods")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	if missing := missingHere(); missing != "" {
		Skip("the suite with managers as Pods is skipped: " + missing)
	}
	var err error
	root, err = repository.Root()
	Expect(err).NotTo(HaveOccurred())
	lock()
	makeSoftware()
	for _, each := range []*podNode{first, inside} {
		each.connect()
	}
	first.answer()
	theLab = suite.StartLab(ctx, lab.Options{PodsReach: first.machine, WithoutKwok: true, Install: func(_ context.Context, l *lab.Lab) error {
		first.start(l.Management)
		return nil
	}})
})

var _ = suite.TellWhenFailed(func() *lab.Lab { return theLab })

// missingHere describes what this machine lacks.
func missingHere() string {
	if os.Getuid() != 0 {
		return "it needs root, for mounts, namespaces and control groups"
	}
	if _, err := os.Stat("/sys/fs/cgroup/memory/cgroup.procs"); err != nil {
		return "it needs cgroup v1: " + err.Error()
	}
	for _, name := range []string{"systemd-nspawn", "containerd", "runc", "dbus-daemon", "ip", "nft", "/usr/lib/cni/bridge"} {
		if _, err := exec.LookPath(name); err != nil {
			return err.Error() + "; hack/test/pods-packages.sh installs Debian's packages"
		}
	}
	return ""
}

// lock waits until no other run has the routes of this machine to Services and Pods.
func lock() {
	GinkgoHelper()
	file, err := os.OpenFile(filepath.Join(os.TempDir(), "elemental-pods.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(file.Close)
	Expect(syscall.Flock(int(file.Fd()), syscall.LOCK_EX)).To(Succeed())
}

// built is a program of this repository or of its tools.
func built(name string) string {
	GinkgoHelper()
	path := filepath.Join(root, "bin", name)
	Expect(path).To(BeARegularFile(), "run make tools tools-nodes tools-pods tools-certmanager lab-binaries")
	return path
}

// kubectl runs kubectl on the first management cluster, and prints the command.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	return first.kubectl(ctx, args...)
}

// run runs a command that must succeed and returns its output.
func run(command string, args ...string) string {
	GinkgoHelper()
	output, err := exec.Command(command, args...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s %s: %s", command, strings.Join(args, " "), output)
	return strings.TrimSpace(string(output))
}
