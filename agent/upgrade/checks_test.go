// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = Describe("The checks of an attempt", func() {
	var (
		w   *world
		dir string
	)
	BeforeEach(func() { w, dir = newWorld(), memoryDir() })

	// found by a check at that time.
	found := func(name, verdict, output string, at time.Time) wire.Check {
		return wire.Check{Name: name, Verdict: verdict, Output: output, Since: at.UTC().Truncate(time.Second)}
	}
	having := func(state assess.State, checks ...wire.Check) assess.Verdict {
		verdict := assess.Verdict{State: state, Checks: checks}
		for _, check := range checks {
			if check.Output != "" {
				verdict.Reasons = append(verdict.Reasons, check.Output)
			}
		}
		return verdict
	}
	names := func(checks []wire.Check) (said []string) {
		for _, check := range checks {
			said = append(said, check.Name+" "+check.Verdict)
		}
		return said
	}
	kubelet := func(verdict, output string) wire.Check { return found("kubelet", verdict, output, w.clock.Now()) }

	It("are reported in their order, from before the upgrade until its end", func() {
		disk := found("required.d/10-disk", wire.CheckPassed, "", w.clock.Now())
		w.verdicts = []assess.Verdict{having(assess.Undecided, kubelet(wire.CheckWaiting, "no kubelet")),
			having(assess.Good, kubelet(wire.CheckPassed, "")), having(assess.Good), having(assess.Good), having(assess.Good, kubelet(wire.CheckPassed, ""))}
		w.checks = []assess.Verdict{having(assess.Good, disk)}
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		Expect(names(w.last().Checks)).To(Equal([]string{"pre-upgrade.d/10-backup Passed", "kubelet Passed", "stable Passed", "required.d/10-disk Passed"}))
		waiting := slices.IndexFunc(w.reported, func(said wire.Attempt) bool {
			return slices.Contains(names(said.Checks), "kubelet Waiting") && said.Message == "no kubelet"
		})
		Expect(waiting).To(BeNumerically(">", 0), "while they are waited for")
		Expect(w.agent(dir).Marker().Checks).To(Equal(w.last().Checks), "an agent that is started again tells the same")
	})

	It("say why a host went back, beside what was found of the former OS", func() {
		bad := having(assess.Bad, found("units", wire.CheckFailed, "units failed", w.clock.Now()), kubelet(wire.CheckWaiting, "no kubelet"))
		w.verdicts = append(slices.Repeat([]assess.Verdict{having(assess.Good, kubelet(wire.CheckPassed, ""))}, 10), bad)
		slices.Reverse(w.verdicts)
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Healthy", true)))
		Expect(names(w.last().Checks)).To(Equal([]string{
			"pre-upgrade.d/10-backup Passed", "units Failed", "kubelet Waiting", "stable Waiting", "former/kubelet Passed", "former/stable Passed",
		}))
	})

	It("tell of a boot that nothing was asked of", func() {
		w.bootsInto = func() int32 { return 1 }
		w.verdicts = []assess.Verdict{having(assess.Bad, kubelet(wire.CheckFailed, "broken"))}
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Healthy", false)))
		Expect(names(w.last().Checks)).To(Equal([]string{"pre-upgrade.d/10-backup Passed", "boot Failed", "former/kubelet Failed", "former/stable Waiting"}))
		Expect(w.last().Checks[1].Output).To(HavePrefix("booted snapshot 1 in passive mode, wanted 2"))
	})

	It("that are waited for when the time is up have timed out", func() {
		w.verdicts = slices.Repeat([]assess.Verdict{having(assess.Undecided, kubelet(wire.CheckWaiting, "no kubelet"))}, 61)
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(HaveField("Phase", wire.PhaseRolledBack))
		Expect(names(w.last().Checks)).To(ContainElements("kubelet TimedOut", "stable TimedOut"))
	})

	It("tell of the owner's program that did not want the upgrade", func() {
		w.refusal = "10-backup failed: full"
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFailed),
			HaveField("Checks", []wire.Check{found("pre-upgrade.d/10-backup", wire.CheckFailed, "10-backup failed: full", w.clock.Now())})))
		w.refusal = ""
		w.live(dir, wanted("a2"))
		Expect(names(w.last().Checks)).To(ContainElement("pre-upgrade.d/10-backup Passed"), "another attempt has its own")
	})

	It("keep the time since which they find the same, and are not reported for another", func() {
		began := w.clock.Now()
		for range 20 {
			w.verdicts = append(w.verdicts, having(assess.Undecided, kubelet(wire.CheckWaiting, "no kubelet")))
			w.clock.Advance(time.Second)
		}
		for i := range w.verdicts {
			w.verdicts[i].Checks[0].Since = began.UTC().Truncate(time.Second).Add(time.Duration(i) * time.Second)
		}
		w.live(dir, wanted("a1"))
		waited := slices.DeleteFunc(slices.Clone(w.reported), func(said wire.Attempt) bool { return said.Message != "no kubelet" })
		Expect(waited).To(HaveLen(1))
		Expect(waited[0].Checks).To(ContainElement(found("kubelet", wire.CheckWaiting, "no kubelet", began)))
	})

	It("are as many as may be reported: what has passed goes first, from the end", func() {
		var checks []wire.Check
		for i := range 40 {
			verdict := wire.CheckFailed
			if i%2 == 0 {
				verdict = wire.CheckPassed
			}
			checks = append(checks, found(fmt.Sprintf("wanted.d/%02d", i), verdict, "", w.clock.Now()))
		}
		w.checks = []assess.Verdict{having(assess.Good, checks...)}
		w.live(dir, wanted("a1"))
		said := names(w.last().Checks)
		Expect(said).To(HaveLen(wire.MaxChecks))
		Expect(said[:3]).To(Equal([]string{"pre-upgrade.d/10-backup Passed", "stable Passed", "wanted.d/00 Passed"}))
		Expect(said).To(And(ContainElements("wanted.d/01 Failed", "wanted.d/39 Failed", "wanted.d/18 Passed"), Not(ContainElement("wanted.d/20 Passed"))))

		for i := range checks {
			checks[i].Verdict = wire.CheckFailed
		}
		w = newWorld()
		w.checks = []assess.Verdict{having(assess.Good, checks...)}
		w.live(memoryDir(), wanted("a1"))
		said = names(w.last().Checks)
		Expect(said).To(HaveLen(wire.MaxChecks))
		Expect([]string{said[0], said[31]}).To(Equal([]string{"wanted.d/00 Failed", "wanted.d/31 Failed"}))
	})

	It("of which none was known to the agent that began the attempt, are those of the one that ends it", func() {
		calm := newWorld()
		calm.live(memoryDir(), wanted("a1"))
		w.killAt = slices.Index(calm.calls, "assess") + 1
		Expect(w.agent(dir).Advance(context.Background(), wanted("a1"), nil)).To(MatchError(errRebooted))
		Expect(w.agent(dir).Advance(context.Background(), wanted("a1"), nil)).To(MatchError(errKilled))
		w.killed, w.killAt = false, 0
		w.verdicts = slices.Repeat([]assess.Verdict{having(assess.Good, kubelet(wire.CheckPassed, ""))}, 10)
		w.live(dir, wanted("a1"))
		Expect(names(w.last().Checks)).To(Equal([]string{"pre-upgrade.d/10-backup Passed", "kubelet Passed", "stable Passed"}))
	})
})
