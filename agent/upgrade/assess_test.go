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

var _ = Describe("An attempt after its reboot", func() {
	var (
		w   *world
		dir string
	)
	BeforeEach(func() { w, dir = newWorld(), memoryDir() })

	DescribeTable("is judged by the boot",
		func(change func(), phase string, healthy bool, boots int, message string) {
			change()
			w.live(dir, wanted("a1"))
			Expect(w.last()).To(And(HaveField("Phase", phase), HaveField("Healthy", healthy), HaveField("Message", message)))
			Expect(w.boots).To(Equal(boots))
		},
		Entry("good at last", func() { w.verdicts = []assess.Verdict{undecided, undecided, good} },
			wire.PhaseSucceeded, false, 2, ""),
		Entry("good with warnings", func() {
			w.checks = []assess.Verdict{{State: assess.Good, Warnings: []string{"wanted check x failed: y"}}}
		},
			wire.PhaseSucceeded, false, 2, "warning: wanted check x failed: y"),
		Entry("good, with what failed while it was written", func() {
			w.ignored = []string{"cloud-init stage post-upgrade failed: y"}
			w.checks = []assess.Verdict{{State: assess.Good, Warnings: []string{"wanted check x failed: y"}}}
		}, wire.PhaseSucceeded, false, 2, "warning: wanted check x failed: y; warning: cloud-init stage post-upgrade failed: y"),
		Entry("bad, with what failed while it was written", func() {
			w.ignored, w.verdicts = []string{"cloud-init stage post-upgrade failed: y"}, []assess.Verdict{bad, good}
		}, wire.PhaseRolledBack, true, 3, "booted snapshot 2 ("+digestOf("2")+"), but its assessment failed: the kubelet is broken"+
			"; warning: cloud-init stage post-upgrade failed: y"),
		Entry("a fallback by the boot loader, with what failed while it was written", func() {
			w.ignored, w.bootsInto = []string{"cloud-init stage post-upgrade failed: y"}, func() int32 { return 1 }
		}, wire.PhaseRolledBack, true, 2, "booted snapshot 1 in passive mode, wanted 2 ("+digestOf("2")+")"+
			"; warning: cloud-init stage post-upgrade failed: y"),
		Entry("bad: back to the former snapshot, once", func() { w.verdicts = []assess.Verdict{bad, good} },
			wire.PhaseRolledBack, true, 3, "booted snapshot 2 ("+digestOf("2")+"), but its assessment failed: the kubelet is broken"),
		Entry("bad by a check of the user", func() {
			w.checks = []assess.Verdict{{State: assess.Bad, Reasons: []string{"required check x failed: y"}}}
		}, wire.PhaseRolledBack, true, 3, "booted snapshot 2 ("+digestOf("2")+"), but its assessment failed: required check x failed: y"),
		Entry("good only with pauses: the time is up", func() {
			for range 31 {
				w.verdicts = append(w.verdicts, good, undecided)
			}
		}, wire.PhaseRolledBack, true, 3, "booted snapshot 2 ("+digestOf("2")+"), but its assessment failed: "+
			"waiting for the kubelet; not good after 10m0s"),
		Entry("good with ever another kubelet: the time is up", func() {
			for n := range 61 {
				w.verdicts = append(w.verdicts, assess.Verdict{State: assess.Good, Kubelet: fmt.Sprint(n)})
			}
		}, wire.PhaseRolledBack, true, 3, "booted snapshot 2 ("+digestOf("2")+"), but its assessment failed: "+
			"it is good, and has to stay good for 30s with the same kubelet; not good after 10m0s"),
		Entry("never decided: the time is up", func() {
			for range 61 {
				w.verdicts = append(w.verdicts, undecided)
			}
		}, wire.PhaseRolledBack, true, 3,
			"booted snapshot 2 ("+digestOf("2")+"), but its assessment failed: waiting for the kubelet; not good after 10m0s"),
		Entry("the former one is bad as well", func() { w.verdicts = []assess.Verdict{bad, bad} },
			wire.PhaseRolledBack, false, 3, "booted snapshot 2 ("+digestOf("2")+"), but its assessment failed: the kubelet is broken"+
				"; the former OS is not healthy: the kubelet is broken"),
		Entry("a fallback by the boot loader", func() { w.bootsInto = func() int32 { return 1 } },
			wire.PhaseRolledBack, true, 2, "booted snapshot 1 in passive mode, wanted 2 ("+digestOf("2")+")"),
		Entry("a fallback to recovery", func() { w.bootsInto = func() int32 { return 0 } },
			wire.PhaseRolledBack, false, 2, "booted the recovery system, wanted snapshot 2 ("+digestOf("2")+")"),
		Entry("bad, and the way back leads nowhere", func() {
			w.verdicts = []assess.Verdict{bad}
			w.bootsInto = func() int32 { return 2 }
		}, wire.PhaseRolledBack, false, 5, "booted snapshot 2 ("+digestOf("2")+"), but its assessment failed: the kubelet is broken"+
			"; expected to boot snapshot 1 again, but 2 was booted"),
	)

	It("is compared with the OS before, also by the user's checks, and keeps the warnings of both", func() {
		w.failing = []string{"the kubelet does not answer"}
		w.verdicts = slices.Repeat([]assess.Verdict{{State: assess.Good, Warnings: []string{"failed before the upgrade, too: the kubelet does not answer"}}}, 5)
		w.checks = []assess.Verdict{{State: assess.Good, Warnings: []string{"wanted check x failed: y"}}}
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Message",
			"warning: failed before the upgrade, too: the kubelet does not answer; warning: wanted check x failed: y")))
		Expect(w.before).To(Equal([]assess.UnitStates{{Failed: []string{"old.service"}, Failing: w.failing}}), "also by the agent that the new boot starts")
	})

	It("has no more time when the agent is started again in between", func() {
		calm := newWorld()
		calm.live(memoryDir(), wanted("a1"))
		w.killAt = slices.Index(calm.calls, "assess") + 20 // nothing but assess from there
		w.verdicts = slices.Repeat([]assess.Verdict{undecided}, 61)
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Message", HaveSuffix("not good after 10m0s"))))
		Expect(w.did("assess")).To(Equal(60+2+4), "every ten seconds, once more by the other agent, and the former OS for half a minute")
	})

	It("is good when it is, however long the agent was away", func() {
		calm := newWorld()
		calm.live(memoryDir(), wanted("a1"))
		w.killAt = slices.Index(calm.calls, "assess") + 1
		Expect(w.agent(dir).Advance(context.Background(), wanted("a1"), nil)).To(MatchError(errRebooted))
		Expect(w.agent(dir).Advance(context.Background(), wanted("a1"), nil)).To(MatchError(errKilled))
		w.killed, w.killAt = false, 0
		w.clock.Advance(11 * time.Minute)
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(HaveField("Phase", wire.PhaseSucceeded))
	})

	It("is looked at for longer than its time by one agent", func() {
		calm := newWorld()
		calm.live(memoryDir(), wanted("a1"))
		w.killAt = slices.Index(calm.calls, "assess") + 1
		Expect(w.agent(dir).Advance(GinkgoT().Context(), wanted("a1"), nil)).To(MatchError(errRebooted))
		Expect(w.agent(dir).Advance(GinkgoT().Context(), wanted("a1"), nil)).To(MatchError(errKilled))
		w.clock.Advance(11 * time.Minute)
		w.killed, w.killAt = false, len(w.calls)+8
		Expect(w.agent(dir).Advance(GinkgoT().Context(), wanted("a1"), nil)).To(MatchError(errKilled))
		w.killed, w.killAt = false, 0
		Expect(w.agent(dir).Marker()).To(HaveField("AssessExtended", true))
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Healthy", true), HaveField("Message", HaveSuffix("not good after 10m0s"))))
		Expect(w.agent(dir).Marker()).To(HaveField("AssessExtended", false), "that was another boot")
	})

	DescribeTable("comes to its end when a step of the way back fails at first", func(step string) {
		w.verdicts, w.refused[step] = []assess.Verdict{bad}, 2
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Healthy", true)))
		Expect(w.boots).To(Equal(3))
		Expect(w.link).To(BeEquivalentTo(1))
	},
		Entry("the choice of the boot", "boot always 1"),
		Entry("the removal of the bad snapshot", "discard"),
	)

	It("is bad when it was not good before its time was up, however good it is for a while then", func() {
		w.verdicts = slices.Concat(slices.Repeat([]assess.Verdict{undecided}, 61), []assess.Verdict{good, good, good})
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Message", HaveSuffix("not good after 10m0s"))))
	})

	It("tells systemd's jobs of two looks apart", func() {
		w.verdicts = []assess.Verdict{{State: assess.Undecided, Jobs: []string{"7"}}, {State: assess.Good, Jobs: []string{}}}
		w.live(dir, wanted("a1"))
		Expect(w.seen[:3]).To(Equal([][]string{nil, {"7"}, {}}))
	})

	It("is bad when its assessment does not end", func() {
		w.policy.AssessTimeout, w.policy.StableWindow = 50*time.Millisecond, 0
		w.hangs = true
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Healthy", true),
			HaveField("Message", HaveSuffix("but its assessment failed: not good after 50ms"))))
	})

	DescribeTable("that the boot loader falls back from too far, goes on to what ran before", func(gone bool, boots int, booted int32, message string) {
		// Snapshot 2 was found bad by an attempt before.
		w.snapshots[2] = snap{digest: digestOf("7"), whole: true}
		w.snapshots[3], w.booted, w.link = snap{digest: digestOf("1"), whole: true}, 3, 3
		w.bootsInto = func() int32 {
			w.bootsInto = nil
			if gone {
				delete(w.snapshots, 3)
			}
			return 2
		}
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Healthy", true), HaveField("Message", message)))
		Expect(w.boots).To(Equal(boots))
		Expect(w.booted).To(Equal(booted))
		Expect(w.link).To(Equal(booted), "it stays there")
	},
		Entry("as long as that is there", false, 3, int32(3), "booted snapshot 2 in passive mode, wanted 4 ("+digestOf("2")+"); reverting to 3"),
		Entry("unless that is gone", true, 2, int32(2),
			"booted snapshot 2 in passive mode, wanted 4 ("+digestOf("2")+"); reverting to 3; the former snapshot 3 no longer exists"),
	)

	It("makes the good snapshot the default before it says that it fell back", func() {
		w.bootsInto = func() int32 { return 1 }
		w.live(dir, wanted("a1"))
		Expect(w.link).To(BeEquivalentTo(1))
		Expect(w.snapshots).NotTo(HaveKey(BeEquivalentTo(2)), "the next upgrade would make it the first fallback")
		w.bootsInto = nil
		w.reboot()
		Expect(w.booted).To(BeEquivalentTo(1))
	})
})
