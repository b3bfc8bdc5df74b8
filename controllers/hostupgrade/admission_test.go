// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// obstacles each keep an attempt from a slot, in the order in which they are reported.
func obstacles() []func(*admission) infrav1.HoldReason {
	by := func(reason infrav1.HoldReason, set func(*admission, *hold)) func(*admission) infrav1.HoldReason {
		return func(a *admission) infrav1.HoldReason {
			set(a, infrav1.NewHold(reason, "Kind/name", "because"))
			return reason
		}
	}
	return []func(*admission) infrav1.HoldReason{
		func(a *admission) infrav1.HoldReason {
			a.upgrade.Status.Digest = "sha256:bad"
			a.elementalCluster.Spec.Quarantine = []infrav1.QuarantinedImage{{Digest: "sha256:bad"}}
			return infrav1.HoldImageQuarantined
		},
		func(a *admission) infrav1.HoldReason {
			a.rollout = &infrav1.ElementalRollout{Spec: infrav1.ElementalRolloutSpec{StoppedBy: "another"}}
			return infrav1.HoldRolloutStopped
		},
		by(infrav1.HoldNamespaceNotOptedIn, func(a *admission, h *hold) { a.optOut = h }),
		by(infrav1.HoldOwnerPaused, func(a *admission, h *hold) { a.paused = h }),
		by(infrav1.HoldOwnerRollingOut, func(a *admission, h *hold) { a.rollsOut = h }),
		func(a *admission) infrav1.HoldReason {
			a.slots.arriving = []string{"moved"}
			return infrav1.HoldNoSlot
		},
		func(a *admission) infrav1.HoldReason {
			occupied := holding(slotOf("a"))
			a.slots.taken, a.slots.holders = append(a.slots.taken, occupied.taken...), append(a.slots.holders, occupied.holders...)
			a.options.MaxConcurrent = 1
			return infrav1.HoldNoSlot
		},
		func(a *admission) infrav1.HoldReason {
			a.machine.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
			occupied := holding(infrav1.UpgradeSlot{Upgrade: "b", ControlPlane: true})
			a.slots.taken, a.slots.holders = append(a.slots.taken, occupied.taken...), append(a.slots.holders, occupied.holders...)
			return infrav1.HoldControlPlaneBusy
		},
		func(a *admission) infrav1.HoldReason {
			evacuating := attempt("z", "1", past(stepCordon))
			a.slots.holders, a.evacuates = append(a.slots.holders, &evacuating), true
			return infrav1.HoldEvacuationBusy
		},
		by(infrav1.HoldWindowClosed, func(a *admission, h *hold) { a.order = h }),
		by(infrav1.HoldClusterUnreachable, func(a *admission, h *hold) { a.unreadable = h }),
		func(a *admission) infrav1.HoldReason {
			a.checks = []infrav1.PreflightResult{{Check: "NodeReady", Verdict: infrav1.PreflightBlock, Object: "Node/n", Message: "is not Ready"}}
			return infrav1.HoldPreflightFailed
		},
		by(infrav1.HoldGateClosed, func(a *admission, h *hold) { a.gate = h }),
		by(infrav1.HoldDesiredOSUnknown, func(a *admission, h *hold) { a.unwanted = h }),
		by(infrav1.HoldNotInTurn, func(a *admission, h *hold) { a.yields = h }),
	}
}

func reasonsOf(a *admission) []infrav1.HoldReason {
	reasons := []infrav1.HoldReason{}
	for _, held := range a.holds() {
		reasons = append(reasons, held.Reason)
	}
	return reasons
}

var _ = Describe("The holds of Admit", func() {
	It("are none where nothing stands in the way", func() {
		Expect(reasonsOf(&admission{observation: typical(func(o *observation) { o.options.MaxConcurrent = 9 })})).To(BeEmpty())
	})

	It("are reported in one order, whichever of them there are, and in whichever order they came", func() {
		all := obstacles()
		for subset := 1; subset < 1<<len(all); subset++ {
			for _, backwards := range []bool{false, true} {
				a := &admission{observation: typical(func(o *observation) { o.options.MaxConcurrent = 9 })}
				expected := make([]infrav1.HoldReason, 0, len(all))
				for i := range all {
					at := i
					if backwards {
						at = len(all) - 1 - i
					}
					if subset&(1<<at) == 0 {
						continue
					}
					reason := all[at](a)
					if backwards {
						expected = append([]infrav1.HoldReason{reason}, expected...)
					} else {
						expected = append(expected, reason)
					}
				}
				Expect(reasonsOf(a)).To(Equal(slices.Compact(expected)), fmt.Sprintf("subset %b", subset))
			}
		}
	})

	It("name no holder of a slot as their object, since those change all the time", func() {
		for _, obstacle := range obstacles()[5:9] {
			a := &admission{observation: typical(func(o *observation) { o.options.MaxConcurrent = 9 })}
			obstacle(a)
			Expect(a.holds()).To(HaveEach(HaveField("Object", "Cluster/c")))
		}
	})
})

var _ = Describe("Checks that hold an attempt", func() {
	blocking := func(check, object string) infrav1.PreflightResult {
		return infrav1.PreflightResult{Check: check, Verdict: infrav1.PreflightBlock, Object: object, Message: "is bad"}
	}
	ofChecks := func(results ...infrav1.PreflightResult) *admission {
		return &admission{observation: typical(), checks: results}
	}

	lookAgain := func(a *admission) time.Duration { return a.lookAgain(a.holds()) }

	It("have a hold each, and share a message", func() {
		a := ofChecks(blocking("NodeReady", "Node/n"), blocking("Quarantine", "Image/sha256:bad"))
		Expect(a.holds()).To(HaveExactElements(
			SatisfyAll(HaveField("Reason", infrav1.HoldPreflightFailed), HaveField("Check", "NodeReady"), HaveField("Object", "Node/n")),
			SatisfyAll(HaveField("Reason", infrav1.HoldImageQuarantined), HaveField("Check", "Quarantine"))))
		Expect(await(0, a.holds()...).Message).To(Equal("Node/n: is bad; Image/sha256:bad: is bad"))
	})

	It("of one object keep their times apart", func() {
		o := typical()
		o.recordHolds(await(0, blockers([]infrav1.PreflightResult{blocking("NodeReady", "Node/n")})...).Holds)
		o.now = o.now.Add(time.Hour)
		o.recordHolds(await(0, blockers([]infrav1.PreflightResult{blocking("NodeReady", "Node/n"), blocking("NodeSchedulable", "Node/n")})...).Holds)
		Expect(o.upgrade.Status.Holds).To(HaveExactElements(
			HaveField("Since.Time", noon), HaveField("Since.Time", noon.Add(time.Hour))))
	})

	It("name as much of an object as fits", func() {
		o := typical()
		o.recordHolds(await(0, blockers([]infrav1.PreflightResult{blocking("OtherNodes", "Node/"+strings.Repeat("ö", 600))})...).Holds)
		Expect([]rune(o.upgrade.Status.Holds[0].Object)).To(HaveLen(maxHoldObject))
	})

	It("are as many as fit, with a pause before them", func() {
		o, many := typical(), []infrav1.PreflightResult{}
		for i := range maxHolds + 1 {
			many = append(many, blocking("Volumes", fmt.Sprintf("Volume/%d", i)))
		}
		o.recordHolds(await(0, blockers(many)...).Holds)
		Expect(o.upgrade.Status.Holds).To(HaveLen(maxHolds))
		o.cluster.Spec.Paused = new(true)
		o.recordPause()
		Expect(o.upgrade.Status.Holds).To(HaveLen(maxHolds))
		Expect(o.upgrade.Status.Holds[0]).To(HaveField("Reason", infrav1.HoldClusterPaused))
	})

	It("are looked at again after as long as what holds lasts", func() {
		Expect(lookAgain(ofChecks(blocking("NodeReady", "Node/n")))).To(Equal(pollCluster))
		Expect(lookAgain(ofChecks(blocking("Quarantine", "Image/i")))).To(Equal(pollSlots))
	})
})

var _ = DescribeTable("The condition Admitted", func(status metav1.ConditionStatus, reason string, changes ...func(*observation)) {
	o := typical(changes...)
	o.recordHolds(nil)
	Expect(conditions.Get(o.upgrade, infrav1.UpgradeAdmittedCondition)).To(SatisfyAll(HaveField("Status", status), HaveField("Reason", reason)))
},
	Entry("before the host is ready", metav1.ConditionFalse, "Preparing"),
	Entry("with a slot", metav1.ConditionTrue, "Admitted", func(o *observation) { o.elementalCluster.Status.UpgradeSlots = []infrav1.UpgradeSlot{o.slot()} }),
	Entry("with a slot that was returned", metav1.ConditionFalse, "NotRequired", func(o *observation) { past(stepCordon)(&o.upgrade.Status) }),
	Entry("of a lost host that was released", metav1.ConditionFalse, "HostLost", func(o *observation) { o.upgrade.Status.Phase = infrav1.UpgradeHostLost }),
	Entry("of one that has ended", metav1.ConditionFalse, "Ended", func(o *observation) { o.upgrade.Status.Phase = infrav1.UpgradeFailed }),
	Entry("of one that has ended at a step that took too long", metav1.ConditionFalse, "Ended", func(o *observation) {
		at(stepDrain, time.Hour)(&o.upgrade.Status)
		o.upgrade.Status.Phase = infrav1.UpgradeAborted
	}),
	Entry("after a step that took too long", metav1.ConditionFalse, "Preparing", func(o *observation) {
		at(stepDrain, time.Hour)(&o.upgrade.Status)
		leave(&o.upgrade.Status, stepDrain, noon)
	}),
	Entry("at a step that takes too long", metav1.ConditionFalse, "StepOverdue", func(o *observation) { at(stepDrain, time.Hour)(&o.upgrade.Status) }),
)

var _ = Describe("A reconcile that fails", func() {
	held := func(step string, reasons ...infrav1.HoldReason) *observation {
		o := typical(func(o *observation) { o.upgrade.Status.Step, o.upgrade.Status.StepIndex = step, 4 })
		for _, reason := range reasons {
			o.upgrade.Status.Holds = append(o.upgrade.Status.Holds, *infrav1.NewHold(reason, "", ""))
		}
		return o
	}

	It("keeps what holds the attempt at the step, without a pause", func() {
		o := held(stepAdmit, infrav1.HoldClusterPaused, infrav1.HoldNoSlot)
		o.keepHolds(sequence.Report{Step: stepAdmit, Index: 4})
		Expect(o.upgrade.Status.Holds).To(HaveExactElements(HaveField("Reason", infrav1.HoldNoSlot)))
	})

	It("keeps what held it at a later step than it came to", func() {
		o := held(stepAdmit, infrav1.HoldNoSlot)
		o.keepHolds(sequence.Report{Step: stepPreflight, Index: 1})
		Expect(o.upgrade.Status.Holds).To(HaveExactElements(HaveField("Reason", infrav1.HoldNoSlot)))
	})

	It("drops what held it at an earlier step", func() {
		o := held(stepAdmit, infrav1.HoldNoSlot)
		o.keepHolds(sequence.Report{Step: stepCordon, Index: 5})
		Expect(o.upgrade.Status.Holds).To(BeEmpty())
	})
})
