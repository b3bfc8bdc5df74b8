// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = Describe("A check that fails before the upgrade", func() {
	const (
		silent  = "the kubelet does not answer at http://127.0.0.1:1/healthz"
		excused = "failed before the upgrade, too: "
	)
	var (
		runner *systemtest.Runner
		host   *system.Host
		clock  *systemtest.Clock
	)
	ctx := context.Background()

	before := func() assess.UnitStates {
		GinkgoHelper()
		found, err := assess.Before(ctx, host, true)
		Expect(err).NotTo(HaveOccurred())
		return found
	}
	program := func(directory, name string) string {
		GinkgoHelper()
		path := host.Path(filepath.Join(directory, name))
		Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		Expect(os.WriteFile(path, nil, 0o755)).To(Succeed())
		return path
	}

	BeforeEach(func() {
		runner, clock = &systemtest.Runner{}, systemtest.NewClock()
		host = &system.Host{Root: GinkgoT().TempDir(), Runner: runner, Clock: clock}
		runner.Say(askToolkit, "active\n")
		runner.Say(askKubelet, "active\n")
		runner.Say(askFailed, "")
		runner.Say(askJobs, "")
		runProcess(host, "812", "k3s-server", "S", "100", "k3s", "--healthz-port=1")
	})

	It("does not judge the new boot: the kubelet is not where it is looked for, as after healthz-port in a kubelet-arg of K3s", func() {
		known := before()
		Expect(known.Failing).To(Equal([]string{silent}))
		runProcess(host, "97", "k3s-server", "S", "80", "k3s", "--healthz-port=2")
		Expect(os.RemoveAll(host.Path("/proc/812"))).To(Succeed())
		verdict, err := assess.Boot(ctx, host, assess.Question{Bootstrapped: true, Before: known})
		Expect(err).NotTo(HaveOccurred())
		warning := excused + "the kubelet does not answer at http://127.0.0.1:2/healthz"
		Expect(verdict).To(And(HaveField("State", assess.Good), HaveField("Reasons", BeEmpty()), HaveField("Warnings", []string{warning}),
			HaveField("Kubelet", "k3s-server 97 (started at 80) "), HaveField("Checks", ContainElement(wire.Check{
				Name: "kubelet", Verdict: wire.CheckFailedBefore, Since: clock.Now().UTC().Truncate(time.Second), Output: warning,
			}))))
		Expect(verdict.Message()).To(Equal("warning: " + warning))
	})

	It("judges it if it fails for another reason", func() {
		known := before()
		runner.On(askKubelet, func(system.Command) system.Result { return system.Result{Stdout: "inactive\n", ExitCode: 3} })
		Expect(assess.Boot(ctx, host, assess.Question{Bootstrapped: true, Before: known})).To(And(HaveField("State", assess.Undecided),
			HaveField("Reasons", ConsistOf(HavePrefix("no kubelet is active"))), HaveField("Checks", ContainElement(And(
				HaveField("Name", "kubelet"), HaveField("Verdict", wire.CheckWaiting))))))
	})

	It("has to fail for as long as a kubelet may take to start again", func() {
		looks := 0
		runner.On(askKubelet, func(system.Command) system.Result {
			if looks++; looks == 6 {
				runProcess(host, "812", "k3s-server", "S", "100", "k3s", "--healthz-port=0")
			}
			return system.Result{Stdout: "active\n"}
		})
		start := clock.Uptime()
		Expect(before().Failing).To(BeEmpty())
		Expect(clock.Uptime() - start).To(Equal(50 * time.Second))
	})

	It("takes no time if there is none", func() {
		runProcess(host, "812", "k3s-server", "S", "100", "k3s", "--healthz-port=0")
		start := clock.Uptime()
		Expect(before()).To(Equal(assess.UnitStates{Jobs: []string{}}))
		Expect(clock.Uptime()).To(Equal(start))
	})

	It("may be the toolkit's, but not while that has no result", func() {
		runProcess(host, "812", "k3s-server", "S", "100", "k3s", "--healthz-port=0")
		runner.On(askToolkit, func(system.Command) system.Result { return system.Result{Stdout: "activating\n", ExitCode: 3} })
		Expect(before().Failing).To(BeEmpty())
		runner.On(askToolkit, func(system.Command) system.Result { return system.Result{Stdout: "failed\n", ExitCode: 3} })
		known := before()
		Expect(known.Failing).To(Equal([]string{"the toolkit's boot assessment failed"}))
		Expect(assess.Boot(ctx, host, assess.Question{Before: known})).To(HaveField("State", assess.Good))
	})

	It("may be the user's, if it fails in the same way", func() {
		runProcess(host, "812", "k3s-server", "S", "100", "k3s", "--healthz-port=0")
		disk, net := program(assess.RequiredDir, "10-disk"), program(assess.RequiredDir, "20-net")
		wanted := program(assess.WantedDir, "10-wanted")
		runner.Fail(disk, 3, "41 ms per block\n")
		runner.Say(net, "")
		runner.Fail(wanted, 1, "hm\n")
		known := before()
		Expect(runner.Calls()).NotTo(ContainElement(wanted))
		Expect(known.Failing).To(Equal([]string{"required check 10-disk failed: 41 ms per block"}))
		runner.Fail(disk, 3, "39 ms per block\n")
		verdict, err := assess.Checks(ctx, host, known)
		Expect(err).NotTo(HaveOccurred())
		Expect(verdict).To(And(HaveField("State", assess.Good), HaveField("Reasons", BeEmpty()), HaveField("Warnings", []string{
			excused + "required check 10-disk failed: 39 ms per block", "wanted check 10-wanted failed: hm",
		})))
		Expect(verdict.Checks).To(HaveExactElements(
			And(HaveField("Name", "required.d/10-disk"), HaveField("Verdict", wire.CheckFailedBefore), HaveField("Output", "39 ms per block")),
			HaveField("Verdict", wire.CheckPassed), HaveField("Verdict", wire.CheckFailed)))

		runner.Fail(disk, 3, "no disk\n")
		runner.Fail(net, 1, "down\n")
		Expect(assess.Checks(ctx, host, known)).To(And(HaveField("State", assess.Bad),
			HaveField("Reasons", []string{"required check 10-disk failed: no disk", "required check 20-net failed: down"})))
	})

	DescribeTable("is not known while the boot cannot be assessed", func(fail func()) {
		fail()
		_, err := assess.Before(ctx, host, true)
		Expect(err).To(HaveOccurred())
	},
		Entry("its units", func() { runner.Fail(askFailed, 1, "no bus") }),
		Entry("its kubelet", func() { runner.Fail(askKubelet, 1, "no bus") }),
		Entry("the user's checks", func() {
			Expect(os.MkdirAll(filepath.Dir(host.Path(assess.RequiredDir)), 0o755)).To(Succeed())
			Expect(os.WriteFile(host.Path(assess.RequiredDir), nil, 0o644)).To(Succeed())
		}),
	)

	It("is not known if the attempt is withdrawn meanwhile", func() {
		withdrawn, cancel := context.WithCancel(ctx)
		runner.On(askKubelet, func(system.Command) system.Result { cancel(); return system.Result{Stdout: "inactive\n", ExitCode: 3} })
		_, err := assess.Before(withdrawn, host, true)
		Expect(errors.Is(err, context.Canceled)).To(BeTrue())
	})
})
