// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// cached is a cache that has these attempts.
type cached struct {
	client.Client
	attempts []infrav1.ElementalHostUpgrade
}

func (c cached) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*infrav1.ElementalHostUpgradeList).Items = c.attempts
	return nil
}

func blockedBy(checks ...string) func(*infrav1.ElementalHostUpgradeStatus) {
	return func(status *infrav1.ElementalHostUpgradeStatus) {
		for _, check := range checks {
			status.Preflight = append(status.Preflight, infrav1.PreflightResult{Check: check, Verdict: infrav1.PreflightBlock})
		}
	}
}

var _ = Describe("A queue for slots", func() {
	It("is woken in the order of the nodes, control planes first, without those that do not wait in it", func(ctx SpecContext) {
		onNode := func(name, node string, changes ...func(*infrav1.ElementalHostUpgradeStatus)) infrav1.ElementalHostUpgrade {
			upgrade := attempt(name, "1", changes...)
			upgrade.Spec.ClusterName, upgrade.Status.NodeName = "c", node
			return upgrade
		}
		waits := at(stepAdmit, 0)
		first := onNode("cp", "node-9", waits)
		first.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
		r := &Reconciler{Client: cached{attempts: []infrav1.ElementalHostUpgrade{
			onNode("a", "node-3", waits), onNode("b", "node-1", waits), onNode("c", "node-2", waits), first,
			onNode("drains", "node-4", at(stepDrain, 0)), onNode("new", "node-5"), onNode("fetches", "node-0", heldAt(stepPreflight, infrav1.HoldPrefetchBusy)),
			onNode("quarantined", "node-6", at(stepPreflight, 0), blockedBy("Quarantine")), onNode("blocked", "node-7", at(stepPreflight, 0), blockedBy("NodeReady")),
		}}}
		Expect(namesOf(r.queued(ctx, "ns", "c"))).To(Equal([]string{"cp", "fetches", "b", "c", "a", "quarantined"}))
	})

	It("has two of each rollout woken when a host has fetched its image", func(ctx SpecContext) {
		waits := func(name, rollout string) infrav1.ElementalHostUpgrade {
			upgrade := attempt(name, "1", heldAt(stepPreflight, infrav1.HoldPrefetchBusy))
			upgrade.Spec.ClusterName, upgrade.Spec.RolloutName = "c", rollout
			return upgrade
		}
		r := &Reconciler{Client: cached{attempts: []infrav1.ElementalHostUpgrade{
			waits("a", "one"), waits("b", "one"), waits("c", "one"), waits("d", "two"), waits("e", "two"), waits("f", "two"),
		}}}
		Expect(namesOf(r.next(ctx, "ns", "c"))).To(Equal([]string{"a", "b", "d", "e"}))
	})

	It("has the first two of each hold woken when another attempt makes way, and the first that is not in turn", func(ctx SpecContext) {
		waits := func(name string, reasons ...infrav1.HoldReason) infrav1.ElementalHostUpgrade {
			upgrade := attempt(name, "1", at(stepAdmit, 0))
			upgrade.Spec.ClusterName = "c"
			for _, reason := range reasons {
				upgrade.Status.Holds = append(upgrade.Status.Holds, infrav1.UpgradeHold{Reason: reason})
			}
			return upgrade
		}
		r := &Reconciler{Client: cached{attempts: []infrav1.ElementalHostUpgrade{
			waits("a", infrav1.HoldNotInStage), waits("b", infrav1.HoldNoSlot, infrav1.HoldControlPlaneBusy), waits("c", infrav1.HoldControlPlaneBusy),
			waits("d", infrav1.HoldNoSlot), waits("e", infrav1.HoldNoSlot), waits("f", infrav1.HoldEvacuationBusy), waits("g", infrav1.HoldControlPlaneBusy),
			waits("h", infrav1.HoldControlPlaneBusy), waits("i", infrav1.HoldNoSlot), waits("j", infrav1.HoldOutcomePending),
			waits("k", infrav1.HoldStageFull), waits("l", infrav1.HoldNotInTurn), waits("m", infrav1.HoldNotInTurn), waits("n", infrav1.HoldStageFull),
		}}}
		wide := r.Client.(cached).attempts
		wide[8].Spec.Options.MaxConcurrent = 3 // made after a user had raised it
		Expect(namesOf(r.next(ctx, "ns", "c"))).To(Equal([]string{"b", "c", "d", "f", "g", "i", "j", "k", "l", "n"}))
	})
})

func namesOf(requests []ctrl.Request) []string {
	names := []string{}
	for _, request := range requests {
		names = append(names, request.Name)
	}
	return names
}

var _ = DescribeTable("A change of an ElementalCluster", func(change func(*infrav1.ElementalCluster), freed, quarantined bool) {
	before := &infrav1.ElementalCluster{Status: infrav1.ElementalClusterStatus{UpgradeSlots: []infrav1.UpgradeSlot{slotOf("a")}}}
	after := before.DeepCopy()
	change(after)
	Expect(slotFreed().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(freed))
	Expect(quarantineChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(quarantined))
},
	Entry("a slot is freed", func(c *infrav1.ElementalCluster) { c.Status.UpgradeSlots = nil }, true, false),
	Entry("a slot is passed on", func(c *infrav1.ElementalCluster) { c.Status.UpgradeSlots[0] = slotOf("b") }, true, false),
	Entry("a slot is taken", func(c *infrav1.ElementalCluster) { c.Status.UpgradeSlots = append(c.Status.UpgradeSlots, slotOf("b")) }, false, false),
	Entry("the quarantine is changed", func(c *infrav1.ElementalCluster) {
		c.Spec.Quarantine = []infrav1.QuarantinedImage{{Digest: "sha256:1", Host: "h"}}
	}, false, true),
	Entry("the status line", func(c *infrav1.ElementalCluster) { c.Status.Conditions = []metav1.Condition{{Type: "NodesUpToDate"}} }, false, false),
)

var _ = Describe("An ElementalCluster", func() {
	It("leaves it to the attempts themselves to be looked at when the manager starts", func() {
		cluster := &infrav1.ElementalCluster{}
		Expect(quarantineChanged().Create(event.CreateEvent{Object: cluster, IsInInitialList: true})).To(BeFalse())
		Expect(quarantineChanged().Create(event.CreateEvent{Object: cluster})).To(BeTrue())
	})
})

var _ = DescribeTable("madeWay", func(before, after func(*infrav1.ElementalHostUpgradeStatus), expected bool) {
	was, is := attempt("u", "1", before), attempt("u", "1", after)
	Expect(madeWay().Update(event.UpdateEvent{ObjectOld: &was, ObjectNew: &is})).To(Equal(expected))
},
	Entry("evacuated", past(stepEvacuateVMs), past(stepEvacuateVMs, stepReboot), true),
	Entry("evacuated before", past(stepReboot), past(stepReboot, stepAssess), false),
	Entry("still on its way", past(stepCordon), past(stepEvacuateVMs), false),
	Entry("woken, and held by its checks now", heldAt(stepAdmit, infrav1.HoldNoSlot), heldAt(stepPreflight, infrav1.HoldPreflightFailed), true),
	Entry("woken, and held by the order now", heldAt(stepAdmit, infrav1.HoldNoSlot), heldAt(stepAdmit, infrav1.HoldNotInStage), true),
	Entry("woken, and held by another control plane node", heldAt(stepAdmit, infrav1.HoldNoSlot), heldAt(stepAdmit, infrav1.HoldControlPlaneBusy), true),
	Entry("woken, and ended", heldAt(stepAdmit, infrav1.HoldNoSlot), in(infrav1.UpgradeSuperseded), true),
	Entry("held by the same still", heldAt(stepAdmit, infrav1.HoldNoSlot), heldAt(stepAdmit, infrav1.HoldNoSlot), false),
	Entry("held by the order, and by another stage now", heldAt(stepAdmit, infrav1.HoldNotInStage), heldAt(stepAdmit, infrav1.HoldWindowClosed), false),
	Entry("with a slot, beside which another may be free", heldAt(stepAdmit, infrav1.HoldNoSlot), past(stepCordon), true),
	Entry("ended after its node was disrupted, whose outcome others wait for", past(stepCordon), endedAfter(stepCordon), true),
	Entry("ended before its turn, for which the nodes after it have waited", past(stepPreflight), endedAfter(stepPreflight), true),
	Entry("held by a user before its turn", past(stepPreflight), heldAt(stepApprove, infrav1.HoldNodePaused), true),
	Entry("fetching, and done with that", at(stepPrefetch, 0), at(stepApprove, 0), true),
	Entry("fetching, and silent now", at(stepPrefetch, 0), heldAt(stepPrefetch, infrav1.HoldHostNotReporting), true),
	Entry("fetching still", at(stepPrefetch, 0), at(stepPrefetch, 0), false),
	Entry("next to fetch, and asked to", heldAt(stepPreflight, infrav1.HoldPrefetchBusy), heldAt(stepPreflight, infrav1.HoldHostNotReporting), true),
)

func endedAfter(step string) func(*infrav1.ElementalHostUpgradeStatus) {
	return func(status *infrav1.ElementalHostUpgradeStatus) {
		past(step)(status)
		status.Phase = infrav1.UpgradeSucceeded
	}
}

func heldAt(step string, reason infrav1.HoldReason) func(*infrav1.ElementalHostUpgradeStatus) {
	return func(status *infrav1.ElementalHostUpgradeStatus) {
		at(step, 0)(status)
		status.Holds = []infrav1.UpgradeHold{{Reason: reason}}
	}
}

var _ = DescribeTable("madeWay, of one that is removed", func(change func(*infrav1.ElementalHostUpgradeStatus), expected bool) {
	upgrade := attempt("u", "1", change)
	Expect(madeWay().Delete(event.DeleteEvent{Object: &upgrade})).To(Equal(expected))
},
	Entry("by force", past(stepDrain), true),
	Entry("as history, of which there is much", in(infrav1.UpgradeSucceeded), false),
)

var _ = DescribeTable("pollBlocked", func(expected, since time.Duration, reasons ...infrav1.HoldReason) {
	o := typical()
	blocked := []*hold{}
	for _, reason := range reasons {
		blocked = append(blocked, &hold{Reason: reason})
	}
	if since > 0 {
		o.upgrade.Status.Holds = []hold{{Reason: infrav1.HoldPreflightFailed, Since: metav1.NewTime(o.now.Add(-since))}}
	}
	Expect(o.pollBlocked(blocked)).To(Equal(expected))
},
	Entry("by what is read of the workload cluster", pollCluster, time.Duration(0), infrav1.HoldPreflightFailed),
	Entry("for a while", 7*time.Second, 70*time.Second, infrav1.HoldPreflightFailed),
	Entry("for long", yieldTime, time.Hour, infrav1.HoldPreflightFailed),
	Entry("by what a user has to lift, whatever else", pollSlots, time.Duration(0), infrav1.HoldImageQuarantined, infrav1.HoldPreflightFailed),
)
