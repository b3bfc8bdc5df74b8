// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

var _ = Describe("An attempt in a Cluster that is upgraded in an order", func() {
	var (
		w     *world
		order *infrav1.ElementalClusterUpgrade
	)

	// begin an ElementalClusterUpgrade to an image.
	begin := func(ctx context.Context, image string, change func(*infrav1.ElementalClusterUpgrade)) {
		GinkgoHelper()
		order = &infrav1.ElementalClusterUpgrade{ObjectMeta: w.meta("edge"), Spec: infrav1.ElementalClusterUpgradeSpec{
			ClusterName: clusterName, OSVersion: infrav1.ClusterOSVersion{ImageURI: image},
		}}
		change(order)
		Expect(live.Create(ctx, order)).To(Succeed())
		planned := order.DeepCopy()
		planned.Status.Stages = []infrav1.ClusterUpgradeStage{
			{Name: "Preflight", CompletionTime: ptr.To(metav1.NewTime(began))}, {Name: "Prefetch", CompletionTime: ptr.To(metav1.NewTime(began))},
		}
		Expect(live.Status().Patch(ctx, planned, client.MergeFrom(order))).To(Succeed())
		order = planned
	}

	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx, infrav1.NodeUpgradeOption{}) })

	It("waits until it may start, without a slot, and asks its host for nothing while it is paused", func(ctx SpecContext) {
		begin(ctx, newImage, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Paused = true })
		w.drive(ctx, nil)
		Expect(w.marks(ctx).Asked).To(BeFalse())
		Expect(w.status(ctx)).To(And(HaveField("Step", "Preflight"),
			HaveField("Message", "waiting for ElementalClusterUpgrade edge: it is paused: set its spec.paused to false")))
		Expect(w.slots(ctx)).To(BeEmpty())

		order.Spec.Paused = false
		Expect(live.Update(ctx, order)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
	})

	It("does not wait for one that is for another OS, or has ended", func(ctx SpecContext) {
		begin(ctx, newImage, func(u *infrav1.ElementalClusterUpgrade) {
			u.Spec.Paused = true
			u.Annotations = map[string]string{infrav1.EndedAnnotation: string(infrav1.ClusterUpgradeCancelled)}
		})
		order.Name, order.ResourceVersion, order.Annotations = "other", "", nil
		order.Spec.OSVersion.ImageURI = oldImage
		Expect(live.Create(ctx, order)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
	})

	It("waits for one that is to take the place of its own", func(ctx SpecContext) {
		begin(ctx, newImage, func(*infrav1.ElementalClusterUpgrade) {})
		newer := order.DeepCopy()
		newer.Name, newer.ResourceVersion, newer.Spec.OSVersion.ImageURI = "newer", "", oldImage
		Expect(live.Create(ctx, newer)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.status(ctx)).To(And(HaveField("Step", "Admit"), HaveField("Message", "waiting for ElementalClusterUpgrade newer, which takes the place of edge")))
	})

	It("finishes what it has begun, whatever is asked of the order", func(ctx SpecContext) {
		begin(ctx, newImage, func(*infrav1.ElementalClusterUpgrade) {})
		w.drive(ctx, w.isAt(ctx, "Reboot"))
		order.Spec.Paused, order.Spec.Cancel = true, true
		Expect(live.Update(ctx, order)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
	})

	It("gets the digest that the order has, whatever its rollout was pinned to", func(ctx SpecContext) {
		begin(ctx, newImage, func(u *infrav1.ElementalClusterUpgrade) {
			u.Annotations = map[string]string{infrav1.ResolvedDigestAnnotation: rollout.Pin(newImage, newDigest)}
		})
		w.pin(ctx, "sha256:moved")
		w.drive(ctx, w.isAt(ctx, "Reboot"))
		Expect(get(ctx, w, w.host, &infrav1.ElementalHost{}).Spec.Upgrade).To(HaveField("Digest", newDigest))
		w.drive(ctx, nil)
		Expect(w.status(ctx)).To(And(HaveField("Phase", infrav1.UpgradeSucceeded), HaveField("Digest", newDigest)))
		Expect(w.marks(ctx).Pin).To(Equal(newDigest))
	})

	It("fetches for one that follows another that was cancelled", func(ctx SpecContext) {
		change(ctx, w, rolloutName, &infrav1.ElementalRollout{}, func(of *infrav1.ElementalRollout) { of.Spec.HeldBy = "former" })
		begin(ctx, newImage, func(*infrav1.ElementalClusterUpgrade) {})
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
	})

	It("is held by one that was cancelled before, until its rollout says so no more", func(ctx SpecContext) {
		isHeldBy := func(upgrade string) {
			change(ctx, w, rolloutName, &infrav1.ElementalRollout{}, func(of *infrav1.ElementalRollout) { of.Spec.HeldBy = upgrade })
		}
		isHeldBy("edge")
		w.drive(ctx, nil)
		Expect(w.status(ctx)).To(And(HaveField("Step", "Preflight"), HaveField("Message",
			"ElementalClusterUpgrade edge was cancelled before this node: patch its template to another OS, create another ElementalClusterUpgrade, "+
				"or remove spec.heldBy of ElementalRollout "+rolloutName)))
		isHeldBy("")
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
	})
})
