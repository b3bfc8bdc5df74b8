// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const patience = specs.Patience

var errNotYet = errors.New("not yet")

// shell starts a shell script that is killed at the end of the spec if it is still running.
func shell(script string) *process.Process {
	GinkgoHelper()
	p, err := process.Start(process.Spec{
		Name: "child", Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"GREETING=hello"}, LogDir: GinkgoT().TempDir(),
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(p.Kill)
	return p
}

// logged waits until the child has written a line.
func logged(p *process.Process, line string) func(context.Context) error {
	return func(context.Context) error {
		if content, err := os.ReadFile(p.LogFile()); err != nil || string(content) != line {
			return errNotYet
		}
		return nil
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

var _ = Describe("A child", func() {
	It("writes its output to its log, with the environment it was given", func(ctx SpecContext) {
		p := shell(`echo "$GREETING"; echo oops >&2; exec sleep 60`)
		Expect(p.Await(ctx, "both lines", logged(p, "hello\noops\n"))).To(Succeed())
		Expect(filepath.Base(p.LogFile())).To(Equal("child.log"))
	}, SpecTimeout(patience))

	It("is asked to exit, and may clean up", func(ctx SpecContext) {
		p := shell(`trap 'echo tidied; exit 0' TERM; echo up; while :; do sleep 0.05; done`)
		Expect(p.Await(ctx, "the trap", logged(p, "up\n"))).To(Succeed())
		p.Stop()
		Expect(p.Exited()).To(BeClosed())
		Expect(process.Tail(p.LogFile())).To(Equal("up\ntidied\n"))
	}, SpecTimeout(patience))

	It("is killed without a signal before, and can be restarted", func(ctx SpecContext) {
		p := shell(`trap 'echo tidied; exit 0' TERM; echo up; while :; do sleep 0.05; done`)
		Expect(p.Await(ctx, "the trap", logged(p, "up\n"))).To(Succeed())
		Expect(p.Restart()).To(MatchError(ContainSubstring("still running")))
		first := p.PID()
		p.Kill()
		Expect(alive(first)).To(BeFalse())

		Expect(p.Restart()).To(Succeed())
		Expect(p.PID()).NotTo(Equal(first))
		Expect(p.Await(ctx, "the second run", logged(p, "up\nup\n"))).To(Succeed(), "the log is appended to, and nothing tidied up")
	}, SpecTimeout(patience))

	It("that exits before it is ready ends the wait, with the end of its log", func(ctx SpecContext) {
		p := shell(`echo "bind: address already in use" >&2; exit 3`)
		err := p.Await(ctx, "readiness", func(context.Context) error { return errNotYet })
		Expect(err).To(MatchError(And(
			ContainSubstring("child ended by itself"), ContainSubstring("exit status 3"), ContainSubstring("address already in use"))))
	}, SpecTimeout(patience))

	It("that never becomes ready is named in the error, with the condition", func(ctx SpecContext) {
		p := shell(`echo thinking; exec sleep 60`)
		Expect(p.Await(ctx, "the log", logged(p, "thinking\n"))).To(Succeed())
		short, cancel := context.WithCancel(ctx)
		err := p.Await(short, "/readyz", func(context.Context) error {
			cancel()
			return errNotYet
		})
		Expect(err).To(MatchError(And(ContainSubstring("waiting for /readyz of child"), ContainSubstring("thinking"))))
		Expect(errors.Is(err, errNotYet)).To(BeTrue())
	}, SpecTimeout(patience))

	DescribeTable("that exits is reported, unless it was asked to",
		func(ctx SpecContext, script string, end func(*process.Process), told []types.GomegaMatcher) {
			failures := make(chan error, 1)
			p, err := process.Start(process.Spec{
				Name: "child", Path: "/bin/sh", Args: []string{"-c", script}, LogDir: GinkgoT().TempDir(),
				Died: func(failure error) { failures <- failure },
			})
			Expect(err).NotTo(HaveOccurred())
			end(p)
			Eventually(p.Exited()).Should(BeClosed())
			Eventually(failures).Should(HaveLen(len(told)))
			Consistently(failures, "100ms").Should(HaveLen(len(told)))
			for _, failure := range told {
				Expect(failures).To(Receive(failure))
			}
		},
		Entry("by itself", "echo panic >&2; exit 2", func(*process.Process) {}, []types.GomegaMatcher{MatchError(ContainSubstring("panic"))}, SpecTimeout(patience)),
		Entry("stopped", "exec sleep 60", (*process.Process).Stop, nil, SpecTimeout(patience)),
		Entry("killed", "exec sleep 60", (*process.Process).Kill, nil, SpecTimeout(patience)),
	)

	It("that cannot be started is an error", func() {
		_, err := process.Start(process.Spec{Name: "child", Path: "/nonexistent/binary", LogDir: GinkgoT().TempDir()})
		Expect(err).To(MatchError(And(ContainSubstring("starting child"), ContainSubstring("/nonexistent/binary"))))
	})
})

var _ = Describe("Ports", func() {
	It("are free, all different, and out of reach of outgoing connections", func() {
		seen := map[int]bool{}
		for range 20 {
			ports, err := process.Ports(5)
			Expect(err).NotTo(HaveOccurred())
			Expect(ports).To(HaveLen(5))
			for _, port := range ports {
				Expect(seen).NotTo(HaveKey(port))
				Expect(port).To(BeNumerically("<", 32768))
				seen[port] = true
			}
		}
	})

	It("are not allocated by another process before their servers listen", func() {
		seen := map[int]bool{}
		for range 8 {
			take, end := process.AnotherProcess(process.FirstPort, process.LastPort)
			DeferCleanup(end)
			ports, err := take(150)
			Expect(err).NotTo(HaveOccurred())
			for _, port := range ports {
				Expect(seen).NotTo(HaveKey(port))
				seen[port] = true
			}
		}
	})

	It("can be allocated again when their process has ended, and are exhausted with an error", func() {
		const first, last = process.FirstPort - 300, process.FirstPort
		take, end := process.AnotherProcess(first, last)
		DeferCleanup(end)
		_, err := take(300)
		Expect(err).To(MatchError(ContainSubstring("looking for 300 free ports between 11700 and 12000: too many are taken")))
		other, endOther := process.AnotherProcess(first, last)
		DeferCleanup(endOther)
		_, err = other(1)
		Expect(err).To(HaveOccurred())
		end()
		Expect(other(1)).To(HaveLen(1))
	})
})
