// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// runs plays a host that reports another boot, of the same image or another.
func (w *world) runs(ctx context.Context, boot, digest string) {
	GinkgoHelper()
	host := get(ctx, w, w.host, &infrav1.ElementalHost{})
	host.Status.OS.BootID, host.Status.OS.Digest = boot, digest
	Expect(live.Status().Update(ctx, host)).To(Succeed())
	setNode(ctx, w.host, boot, corev1.ConditionTrue, w.clock.Now())
}

// expectNotTriggered checks that the trigger is taken back, and that the attempt goes on.
func (w *world) expectNotTriggered(ctx context.Context) {
	GinkgoHelper()
	host := get(ctx, w, w.host, &infrav1.ElementalHost{})
	Expect(host.Labels).NotTo(HaveKey(infrav1.InPlaceUpgradeLabel))
	Expect(host.Spec.Upgrade).To(HaveField("TriggeredFor", BeNil()))
	Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeProgressing))
	Expect(w.agent.applied).To(BeEmpty())
}

var _ = Describe("A trigger that is for another boot", func() {
	var w *world
	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.agent.stopAt = infrav1.HostUpgradeFetched
		w.drive(ctx, nil)
		Expect(w.status(ctx).Position()).To(Equal("Reboot (10/14)"))
		Expect(get(ctx, w, w.host, &infrav1.ElementalHost{}).Spec.Upgrade.TriggeredFor).To(Equal(&infrav1.HostBoot{BootID: "boot-1", Digest: oldDigest}))
		w.agent.stopAt = ""
	})

	It("is renewed after the host was rebooted, once its node is drained again", func(ctx SpecContext) {
		guardPod(ctx, w) // which has come with the boot
		w.runs(ctx, "boot-2", oldDigest)
		w.drive(ctx, nil)
		w.expectNotTriggered(ctx)
		Expect(w.status(ctx).Position()).To(Equal("Drain (7/14)"))
		allowEviction(ctx, w)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(w.agent.applied).To(HaveLen(1))
		Expect(w.faults.triggers).To(HaveLen(2))
	})

	It("drains the node of a host that a restored backup had triggered, before it is taken to the image of the backup", func(ctx SpecContext) {
		w.runs(ctx, "boot-9", "sha256:newest")
		w.changeNode(ctx, func(node *corev1.Node) {
			node.Spec.Unschedulable = false
			delete(node.Annotations, infrav1.CordonedByAnnotation)
		})
		guardPod(ctx, w)
		w.drive(ctx, nil)
		w.expectNotTriggered(ctx)
		Expect(w.status(ctx).Position()).To(Equal("Drain (7/14)"))
		Expect(w.marks(ctx)).To(And(HaveField("Unschedulable", BeTrue()), HaveField("CordonedBy", "ours")))
		allowEviction(ctx, w)
		w.drive(ctx, func() bool { return w.status(ctx).Step == "Reboot" })
		Expect(get(ctx, w, w.host, &infrav1.ElementalHost{}).Spec.Upgrade.TriggeredFor).To(Equal(&infrav1.HostBoot{BootID: "boot-9", Digest: "sha256:newest"}))
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	It("is renewed in the same boot where the node was uncordoned since, as where a restored backup had triggered the host", func(ctx SpecContext) {
		w.changeNode(ctx, func(node *corev1.Node) {
			node.Spec.Unschedulable = false
			delete(node.Annotations, infrav1.CordonedByAnnotation)
		})
		guardPod(ctx, w)
		w.drive(ctx, nil)
		w.expectNotTriggered(ctx)
		Expect(w.status(ctx).Position()).To(Equal("Drain (7/14)"))
		Expect(w.marks(ctx)).To(And(HaveField("Unschedulable", BeTrue()), HaveField("CordonedBy", "ours")))
		allowEviction(ctx, w)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(w.agent.applied).To(HaveLen(1))
		Expect(w.faults.triggers).To(HaveLen(2))
	})

	It("is renewed for a host that was lost, and has its time for the reboot again", func(ctx SpecContext) {
		w.agent.silent = true
		w.clock.SetTime(w.clock.Now().Add(31 * time.Minute))
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeHostLost))
		w.agent.silent = false
		guardPod(ctx, w)
		w.runs(ctx, "boot-2", oldDigest)
		w.drive(ctx, nil)
		w.expectNotTriggered(ctx)
		allowEviction(ctx, w)
		w.agent.stopAt = infrav1.HostUpgradeFetched
		w.drive(ctx, nil)
		Expect(w.status(ctx)).To(And(HaveField("Step", "Reboot"), HaveField("Phase", infrav1.UpgradeProgressing)))
		w.agent.stopAt = ""
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	It("is renewed where a manager has written it that names no boot", func(ctx SpecContext) {
		change(ctx, w, w.host, &infrav1.ElementalHost{}, func(host *infrav1.ElementalHost) { host.Spec.Upgrade.TriggeredFor = nil })
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(w.agent.applied).To(HaveLen(1))
		Expect(w.faults.triggers).To(HaveLen(2))
	})

	It("is given again to a host that had started just before it was taken back, so that its end is recorded", func(ctx SpecContext) {
		beginUnheard(ctx, w)
		change(ctx, w, w.host, &infrav1.ElementalHost{}, func(host *infrav1.ElementalHost) { host.Spec.Upgrade.TriggeredFor = nil })
		w.agent.silent = true
		guardPod(ctx, w)
		w.drive(ctx, nil)
		Expect(get(ctx, w, w.host, &infrav1.ElementalHost{}).Labels).NotTo(HaveKey(infrav1.InPlaceUpgradeLabel))
		w.agent.silent = false
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).Annotations).To(HaveKeyWithValue(infrav1.EndedAnnotation, string(infrav1.UpgradeSucceeded)))
		Expect(w.agent.applied).To(HaveLen(1))
	})

	It("is not renewed for an attempt that is cancelled", func(ctx SpecContext) {
		w.runs(ctx, "boot-2", oldDigest)
		cancel(ctx, w)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(marks{Phase: infrav1.UpgradeAborted, OS: oldDigest, Pin: newDigest}))
		Expect(w.agent.applied).To(BeEmpty())
	})

	It("does not keep clusterctl from moving a host whose Cluster is paused", func(ctx SpecContext) {
		w.agent.stopAt = infrav1.HostUpgradeFetched
		pause(ctx, w, true)
		w.drive(ctx, nil)
		Expect(w.marks(ctx).BlockMove).To(BeTrue(), "the host may carry it out")
		w.runs(ctx, "boot-2", oldDigest)
		w.drive(ctx, nil)
		Expect(w.marks(ctx).BlockMove).To(BeFalse())
	})
})

var _ = It("A host that has not reported the boot that it is in is not triggered", func(ctx SpecContext) {
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	w.runs(ctx, "", oldDigest)
	w.drive(ctx, nil)
	Expect(w.status(ctx).Message).To(Equal(w.inWords("ElementalHost HOST is not triggered: it has not reported the boot that it is in")))
	Expect(w.marks(ctx).SkipRemediation).To(BeTrue(), "its node is cordoned")
	Expect(w.faults.triggers).To(BeEmpty())
})
