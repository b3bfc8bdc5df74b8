// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// Rule of the clusterctl contract: "Move", block-move.
var _ = Describe("A paused Cluster can be moved, unless the host is on its way, and the attempt goes on afterwards:", func() {
	atEachHold(func(ctx context.Context, h hold) {
		w := held(ctx, h)
		before := w.marks(ctx)
		pause(ctx, w, true)
		for range 2 { // the first one says that it is paused
			_, err := w.reconcile(ctx)
			Expect(err).NotTo(HaveOccurred())
		}
		paused := before
		report := get(ctx, w, w.host, &infrav1.ElementalHost{}).Status.Upgrade
		if report != nil && hoststate.Ended(report.Phase) {
			paused.Label = ""
		}
		paused.BlockMove = paused.Label == infrav1.InPlaceUpgradePending
		Expect(w.marks(ctx)).To(Equal(paused), "nothing else is touched")
		if !paused.BlockMove {
			move(ctx, w)
			Expect(w.marks(ctx)).To(HaveField("CordonedBy", paused.CordonedBy), "the attempt knows its marks again")
		}

		pause(ctx, w, false)
		h.lift(ctx, w)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(w.faults.triggers).To(HaveLen(1))
	})
})

func pause(ctx context.Context, w *world, paused bool) {
	GinkgoHelper()
	change(ctx, w, clusterName, &clusterv1.Cluster{}, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = &paused })
}

// move plays "clusterctl move": the attempt is there again under another UID, and what stood in status is lost.
func move(ctx context.Context, w *world) {
	GinkgoHelper()
	before := get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{})
	after := &infrav1.ElementalHostUpgrade{ObjectMeta: w.meta(w.upgrade), Spec: before.Spec}
	after.Labels, after.Annotations, after.Finalizers = before.Labels, before.Annotations, before.Finalizers
	change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) { u.Finalizers = nil })
	Expect(live.Delete(ctx, before)).To(Succeed())
	Expect(live.Create(ctx, after)).To(Succeed())
	cluster := get(ctx, w, clusterName, &infrav1.ElementalCluster{})
	own := func(slot infrav1.UpgradeSlot) bool { return slot.Upgrade == w.upgrade }
	setSlots(ctx, w, slices.DeleteFunc(cluster.Status.UpgradeSlots, own)...)
}
