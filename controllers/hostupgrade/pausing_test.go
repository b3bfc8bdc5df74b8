// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = Describe("The pause of a node", func() {
	markNode := func(ctx context.Context, w *world, annotations map[string]string) {
		GinkgoHelper()
		w.changeNode(ctx, func(node *corev1.Node) { node.Annotations = annotations })
	}
	resume := func(ctx context.Context, w *world) {
		GinkgoHelper()
		w.changeNode(ctx, func(node *corev1.Node) { delete(node.Annotations, infrav1.NodeUpgradePauseAnnotation) })
	}
	retry := func(ctx context.Context, w *world, options infrav1.NodeUpgradeOption) {
		GinkgoHelper()
		Expect(live.Delete(ctx, &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.upgrade}})).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.marks(ctx).Gone).To(BeTrue())
		w.addUpgrade(ctx, w.upgrade, w.host, options)
	}

	It("names its rollout, and holds no slot and no cordon", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(marks{
			Phase: infrav1.UpgradeProgressing, Paused: "ours", PausedBy: "ours", Asked: true, Pin: newDigest, OS: oldDigest,
		}))
	})

	It("is not put back where a user took it away between two attempts", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		markNode(ctx, w, map[string]string{infrav1.PausedByAnnotation: rolloutName})
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	It("is set, and ended by a user, before the host has fetched the image", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.rest(ctx)
		Expect(w.marks(ctx)).To(And(HaveField("Paused", "ours"), HaveField("PausedBy", "ours"), HaveField("Pin", BeEmpty())))
		Expect(w.status(ctx).Position()).To(Equal("Preflight (1/14)"), "the host has not answered")
		resume(ctx, w)
		w.rest(ctx)
		Expect(w.marks(ctx)).To(And(HaveField("Paused", BeEmpty()), HaveField("PausedBy", BeEmpty()), HaveField("Approved", "ours"), HaveField("Pin", BeEmpty())))
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	It("of a rollout that was aborted is not taken for this one's", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		markNode(ctx, w, map[string]string{infrav1.PausedByAnnotation: "another"})
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(And(HaveField("Paused", "ours"), HaveField("PausedBy", "ours")))
	})

	It("of a rollout that was aborted does not hold one that pauses nothing", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		markNode(ctx, w, map[string]string{infrav1.PausedByAnnotation: "another", infrav1.NodeUpgradePauseAnnotation: "another"})
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	It("is set again for a retry, if nobody has approved", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.drive(ctx, nil)
		retry(ctx, w, manual)
		Expect(w.marks(ctx)).To(And(HaveField("Paused", BeEmpty()), HaveField("PausedBy", BeEmpty()), HaveField("Approved", BeEmpty())))
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(And(HaveField("Paused", "ours"), HaveField("PausedBy", "ours")))
	})

	DescribeTable("is not set again for a retry of what was approved", func(ctx SpecContext, approve func(context.Context, *world)) {
		w := newWorld(ctx, manual)
		w.drive(ctx, nil)
		takeSlot(ctx, w)
		approve(ctx, w)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Position()).To(Equal("Admit (4/14)"))
		retry(ctx, w, manual)
		Expect(w.marks(ctx)).To(And(HaveField("Paused", BeEmpty()), HaveField("PausedBy", BeEmpty()), HaveField("Approved", "ours")))
		freeSlots(ctx, w)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	},
		Entry("by taking the pause away", resume),
		Entry("by spec.approved", func(ctx context.Context, w *world) {
			change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) { u.Spec.Approved = true })
		}),
		Entry("in the moment before the retry", func(ctx context.Context, w *world) {
			resume(ctx, w)
			Expect(live.Delete(ctx, &infrav1.ElementalHostUpgrade{ObjectMeta: w.meta(w.upgrade)})).To(Succeed())
			w.drive(ctx, nil)
			Expect(w.marks(ctx)).To(And(HaveField("Gone", true), HaveField("PausedBy", BeEmpty())))
			w.addUpgrade(ctx, w.upgrade, w.host, manual)
		}),
	)

	It("is set again for another rollout, whatever was approved for a former one", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		change(ctx, w, w.host, &clusterv1.Machine{}, func(m *clusterv1.Machine) {
			m.Annotations = map[string]string{infrav1.ApprovedRolloutAnnotation: "another"}
		})
		w.drive(ctx, nil)
		Expect(w.marks(ctx).Paused).To(Equal("ours"))
	})

	It("by a person is left on the Node when the attempt is given up", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		markNode(ctx, w, map[string]string{infrav1.NodeUpgradePauseAnnotation: "lunch"})
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(And(HaveField("Paused", "lunch"), HaveField("PausedBy", "ours")))
		change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) { u.Spec.Cancel = true })
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(And(HaveField("Paused", "lunch"), HaveField("PausedBy", BeEmpty())))
	})

	It("is taken back when the Machine is deleted", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.drive(ctx, nil)
		Expect(live.Delete(ctx, &clusterv1.Machine{ObjectMeta: w.meta(w.host)})).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(And(HaveField("Phase", infrav1.UpgradeAborted), HaveField("Paused", BeEmpty()), HaveField("PausedBy", BeEmpty())))
	})
})
