// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// at is an attempt at a step since a while.
func at(step string, since time.Duration) func(*infrav1.ElementalHostUpgradeStatus) {
	return func(status *infrav1.ElementalHostUpgradeStatus) {
		status.Phase, status.Step, status.NodeName = infrav1.UpgradeProgressing, step, "node"
		status.Steps = []infrav1.UpgradeStepStatus{{Name: step, StartTime: metav1.Time{Time: noon.Add(-since)}}}
	}
}

var _ = DescribeTable("heldUp", func(expected string, changes ...func(*infrav1.ElementalHostUpgradeStatus)) {
	upgrade := attempt("u", "1", changes...)
	Expect(heldUp(&upgrade, noon)).To(Equal(expected))
},
	Entry("not looked at yet", ""),
	Entry("on its way", "", at(stepDrain, time.Second)),
	Entry("by its budgets", "at Drain (for longer than 30m0s)", at(stepDrain, time.Hour)),
	Entry("by its host, which is lost before it is late", "", at(stepReboot, 24*time.Hour)),
	Entry("by its node", "at Assess (for longer than 15m0s)", at(stepAssess, time.Hour)),
	Entry("by a person", "Paused: waits for approval", at(stepApprove, time.Second)),
	Entry("by its pause", "Paused: its ElementalHostUpgrade is paused", at(stepDrain, time.Hour), func(status *infrav1.ElementalHostUpgradeStatus) {
		status.Conditions = []metav1.Condition{{Type: clusterv1.PausedCondition, Status: metav1.ConditionTrue}}
	}),
	Entry("by a check", "held by NodeReady and Volumes", at(stepPreflight, time.Second), blockedBy("NodeReady", "Volumes")),
	Entry("lost", "HostLost: waits for its host", at(stepReboot, time.Hour), in(infrav1.UpgradeHostLost)),
	Entry("ended, which has given its slot back", "", in(infrav1.UpgradeFailed)),
)

var _ = Describe("What holds an attempt", func() {
	It("is nothing on its way, since all who wait for it would write that", func() {
		for _, step := range StepNames() {
			if step == stepApprove || step == stepTrigger { // passed before there is a slot, and in one reconcile
				continue
			}
			upgrade := attempt("u", "1", at(step, time.Second))
			Expect(heldUp(&upgrade, noon)).To(BeEmpty(), step)
		}
	})

	It("is said of one that is ready to be triggered and is not", func() {
		upgrade := attempt("u", "1", at(stepTrigger, time.Second))
		Expect(heldUp(&upgrade, noon)).To(Equal("waits at Trigger"))
		upgrade = attempt("u", "1", at(stepTrigger, time.Second), blockedBy("ControlPlaneQuorum"))
		Expect(heldUp(&upgrade, noon)).To(Equal("held by ControlPlaneQuorum"))
	})
})

// holding are the slots of attempts, each on a node of its own name.
func holding(slots ...infrav1.UpgradeSlot) occupancy {
	held := occupancy{taken: slots}
	for _, slot := range slots {
		upgrade := attempt(slot.Upgrade, "1", at(stepDrain, 0))
		upgrade.Status.NodeName = "node-" + slot.Upgrade
		held.holders = append(held.holders, &upgrade)
	}
	return held
}

var _ = DescribeTable("slots that are taken", func(maxConcurrent int32, controlPlane bool, expected string, taken ...infrav1.UpgradeSlot) {
	o := typical(func(o *observation) {
		o.options.MaxConcurrent = maxConcurrent
		if controlPlane {
			o.machine.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
		}
	})
	Expect(firstHold(&admission{observation: o, slots: holding(taken...)})).To(Equal(expected))
},
	Entry("none taken", int32(1), false, ""),
	Entry("all taken", int32(2), false, "NoSlot: waiting for an upgrade slot of Cluster c: 2 of 2 taken by node-a, node-b", slotOf("b"), slotOf("a")),
	Entry("one left", int32(2), false, "", slotOf("a")),
	Entry("more taken than allowed by now", int32(1), false,
		"NoSlot: waiting for an upgrade slot of Cluster c: 2 of 1 taken by node-a, node-b", slotOf("a"), slotOf("b")),
	Entry("a worker beside a control plane node", int32(2), false, "", infrav1.UpgradeSlot{Upgrade: "a", ControlPlane: true}),
	Entry("two control plane nodes", int32(3), true,
		"ControlPlaneBusy: waiting for the other control plane node, as they are upgraded one at a time: node-a",
		slotOf("b"), infrav1.UpgradeSlot{Upgrade: "a", ControlPlane: true}),
)

// firstHold is the hold that is reported; empty if there is none.
func firstHold(a *admission) string {
	holds := a.holds()
	if len(holds) == 0 {
		return ""
	}
	return string(holds[0].Reason) + ": " + holds[0].Message
}

func slotOf(upgrade string) infrav1.UpgradeSlot { return infrav1.UpgradeSlot{Upgrade: upgrade} }
