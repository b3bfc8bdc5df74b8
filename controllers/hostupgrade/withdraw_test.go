// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// release lets the host go on, and where the attempt was too late to be withdrawn, everything else.
func release(ctx context.Context, w *world, h hold) {
	w.agent.stopAt, w.agent.silent = "", false
	if h.begun {
		h.lift(ctx, w)
	}
	w.drive(ctx, nil)
}

// expectWithdrawn checks what is left where the host had not begun: nothing but what was there before.
func expectWithdrawn(ctx context.Context, w *world, phase infrav1.UpgradePhase) {
	GinkgoHelper()
	found := w.marks(ctx)
	Expect(found.Slots).To(BeNumerically("<=", 1))
	if found.Slots == 1 {
		Expect(get(ctx, w, clusterName, &infrav1.ElementalCluster{}).Status.UpgradeSlots[0].Upgrade).To(Equal("upgrade-z"))
	}
	found.Slots, found.Pin = 0, ""
	Expect(found).To(Equal(marks{Phase: phase, Gone: phase == "", OS: oldDigest}))
	Expect(w.agent.applied).To(BeEmpty())
}

var _ = Describe("An attempt that is cancelled", func() {
	atEachHold(func(ctx context.Context, h hold) {
		w := held(ctx, h)
		cancel(ctx, w)
		release(ctx, w, h)
		if h.begun {
			Expect(w.marks(ctx)).To(Equal(clean))
			return
		}
		expectWithdrawn(ctx, w, infrav1.UpgradeAborted)
	})
})

var _ = Describe("An attempt whose Machine's owner wants another OS", func() {
	atEachHold(func(ctx context.Context, h hold) {
		w := held(ctx, h)
		w.owners.hash = "other"
		release(ctx, w, h)
		if h.begun {
			Expect(w.marks(ctx)).To(Equal(clean))
			return
		}
		expectWithdrawn(ctx, w, infrav1.UpgradeSuperseded)
	})
})

var _ = Describe("An attempt that is deleted", func() {
	atEachHold(func(ctx context.Context, h hold) {
		w := held(ctx, h)
		Expect(live.Delete(ctx, &infrav1.ElementalHostUpgrade{ObjectMeta: w.meta(w.upgrade)})).To(Succeed())
		release(ctx, w, h)
		if h.begun {
			Expect(w.marks(ctx)).To(Equal(with(clean, func(m *marks) { m.Phase, m.Gone = "", true })))
			return
		}
		expectWithdrawn(ctx, w, "")
	})

	It("takes back the cordon that a roll-back had kept", func(ctx SpecContext) {
		w := newWorld(ctx, keepCordoned)
		w.agent.fallsBack = true
		w.drive(ctx, nil)
		Expect(w.marks(ctx).Unschedulable).To(BeTrue())
		Expect(live.Delete(ctx, &infrav1.ElementalHostUpgrade{ObjectMeta: w.meta(w.upgrade)})).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.marks(ctx).Gone).To(BeTrue())
		Expect(w.marks(ctx).Unschedulable).To(BeFalse())
	})

	It("leaves a cordon and a pause that are somebody else's", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.drive(ctx, func() bool { return w.agent.marker.Phase == infrav1.HostUpgradeFetching })
		w.changeNode(ctx, func(node *corev1.Node) {
			node.Spec.Unschedulable = true
			node.Annotations = map[string]string{infrav1.NodeUpgradePauseAnnotation: "lunch"}
		})
		Expect(live.Delete(ctx, &infrav1.ElementalHostUpgrade{ObjectMeta: w.meta(w.upgrade)})).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(marks{Gone: true, Unschedulable: true, Paused: "lunch", OS: oldDigest}))
	})
})
