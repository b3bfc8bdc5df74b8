// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
)

var _ = Describe("Processes", func() {
	run := func(script string) (system.Result, error) {
		return system.Processes{}.Run(context.Background(), system.Command{Name: "/bin/sh", Args: []string{"-c", script}, Env: []string{"GIVEN=yes"}})
	}

	It("tell how they ended and what they said", func() {
		Expect(run("echo $GIVEN; echo no >&2; exit 3")).To(Equal(system.Result{Stdout: "yes\n", Stderr: "no\n", ExitCode: 3}))
	})

	It("tell a kill from an exit", func() {
		Expect(run("kill -9 $$")).To(HaveField("ExitCode", -1))
	})

	It("keep the end of what they say", func() {
		result, err := run("i=0; while [ $i -lt 5000 ]; do echo 'a line of text'; i=$((i+1)); done; echo last")
		Expect(err).NotTo(HaveOccurred())
		Expect(len(result.Stdout)).To(BeNumerically("<=", 32<<10))
		Expect(system.LastLine(result.Stdout)).To(Equal("last"))
	})

	It("are an error when they cannot be started", func() {
		_, err := system.Processes{}.Run(context.Background(), system.Command{Name: "/no/such/thing"})
		Expect(err).To(MatchError(ContainSubstring(`running "/no/such/thing"`)))
	})

	It("have namespaces of their own that end with them, where that is asked for", func() {
		bin := GinkgoT().TempDir()
		Expect(os.WriteFile(filepath.Join(bin, "unshare"), []byte("#!/bin/sh\necho \"$@\"\n"), 0o755)).To(Succeed())
		GinkgoT().Setenv("PATH", bin)
		Expect(system.Processes{}.Run(context.Background(), system.Command{Name: "elemental", Args: []string{"upgrade"}, Private: true})).To(
			HaveField("Stdout", "--mount --propagation private --pid --fork --mount-proc --kill-child -- elemental upgrade\n"))
	})

	It("end with the context", func() {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_, err := system.Processes{}.Run(ctx, system.Command{Name: "/bin/sh", Args: []string{"-c", "while :; do :; done"}})
		Expect(err).To(MatchError(context.DeadlineExceeded))
	})
})

var _ = Describe("Files", func() {
	It("are replaced whole, with the mode, and leave nothing beside them", func() {
		path := filepath.Join(GinkgoT().TempDir(), "a", "b")
		Expect(system.WriteFile(path, []byte("one"), 0o600)).To(Succeed())
		Expect(system.WriteFile(path, []byte("two"), 0o640)).To(Succeed())
		Expect(os.ReadFile(path)).To(BeEquivalentTo("two"))
		info, err := os.Stat(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Mode().Perm()).To(BeEquivalentTo(0o640))
		Expect(os.ReadDir(filepath.Dir(path))).To(HaveLen(1))
	})

	It("that are missing are no error to remove or to read", func() {
		path := filepath.Join(GinkgoT().TempDir(), "x")
		Expect(system.RemoveFile(path)).To(Succeed())
		var value any
		Expect(system.ReadJSON(path, &value)).To(BeFalse())
	})
})

var _ = Describe("A tree", func() {
	var directory string

	BeforeEach(func() {
		directory = GinkgoT().TempDir()
		Expect(os.MkdirAll(filepath.Join(directory, "3", "a", "b"), 0o755)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(directory, "3", "a", "file"), nil, 0o400)).To(Succeed())
		Expect(os.MkdirAll(filepath.Join(directory, "2"), 0o755)).To(Succeed())
		Expect(os.Symlink("../../2", filepath.Join(directory, "3", "a", "link"))).To(Succeed())
	})

	It("is removed with all that is in it, and with no more than the links to what is elsewhere", func() {
		Expect(system.RemoveTree(directory, "3")).To(Succeed())
		left, err := os.ReadDir(directory)
		Expect(err).NotTo(HaveOccurred())
		Expect(left).To(ConsistOf(HaveField("Name()", "2")))
	})

	It("is removed when it is a file, or not there", func() {
		Expect(system.RemoveTree(filepath.Join(directory, "3", "a"), "file")).To(Succeed())
		Expect(filepath.Join(directory, "3", "a", "file")).NotTo(BeAnExistingFile())
		Expect(system.RemoveTree(directory, "9")).To(Succeed())
		Expect(system.RemoveTree(filepath.Join(directory, "9"), "9")).To(Succeed())
	})
})

var _ = Describe("Waiting", func() {
	It("ends with the context", func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		Expect(system.Wait(ctx, systemtest.NewClock(), time.Hour)).To(MatchError(context.Canceled))
	})
})

var _ = Describe("Addresses", func() {
	It("are unicast, sorted, and not the loopback", func() {
		addresses, err := system.InterfaceAddresses()
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Join(addresses, " ")).NotTo(ContainSubstring("127.0.0.1"))
	})
})
