// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

var _ = Describe("An upgrade while Rancher drains the Node", func() {
	It("hands the Node over and back, and leaves nothing behind", func(ctx SpecContext) {
		w := newRancherWorld(ctx, evicting)
		guardPod(ctx, w.world)
		w.cordons(ctx, rancher.FieldManager, "true")
		w.drive(ctx, nil)
		Expect(w.status(ctx).Position()).To(Equal("HandOver (7/16)"))
		Expect(w.status(ctx).Message).To(Equal(w.inWords("waiting for Rancher to drain Node HOST")))
		Expect(w.marks(ctx)).To(And(HaveField("Unschedulable", true), HaveField("CordonedBy", ""), HaveField("Slots", 1), HaveField("BlockMove", true)))
		Expect(w.node(ctx).Annotations).To(HaveKeyWithValue(infrav1.MarkedByAnnotation, HavePrefix(w.upgrade)))

		w.says(ctx, func(all map[string]string) { all[rancher.DrainErrorAnnotation] = "connection refused" })
		w.drive(ctx, nil)
		Expect(w.status(ctx).Message).To(Equal(w.inWords("waiting for Rancher to drain Node HOST; Rancher reports: connection refused")))

		w.says(ctx, func(all map[string]string) { delete(all, rancher.DrainErrorAnnotation) })
		w.asks(ctx, rancher.DrainDoneAnnotation)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Message).To(Equal(w.inWords("waiting for Rancher to upgrade Kubernetes on Node HOST")))
		Expect(w.faults.triggers).To(BeEmpty())

		w.handsBack(ctx)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Position()).To(Equal("Drain (8/16)"), "of what Rancher has left, or came since")
		allowEviction(ctx, w.world)
		w.drive(ctx, w.isAt(ctx, "HandBack"))
		Expect(w.faults.triggers).To(HaveLen(1))
		Expect(w.status(ctx).Position()).To(Equal("HandBack (13/16)"))
		Expect(w.status(ctx).Message).To(Equal(w.inWords("waiting for Rancher to uncordon Node HOST")))
		Expect(get(ctx, w.world, "web", &corev1.Pod{})).To(BeNil())

		w.ends(ctx)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(w.node(ctx).Annotations).NotTo(Or(HaveKey(infrav1.MarkedByAnnotation), HaveKey(infrav1.PersonsCordonAnnotation)))
	})

	It("cordons the Node again that somebody has uncordoned after Rancher's drain", func(ctx SpecContext) {
		w := newRancherWorld(ctx, evicting)
		w.cordons(ctx, rancher.FieldManager, "true")
		w.drive(ctx, w.isAt(ctx, "HandOver"))
		w.cordons(ctx, "kubectl", "false")
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(HaveField("Unschedulable", true))
		Expect(w.node(ctx).Annotations).NotTo(HaveKey(infrav1.PersonsCordonAnnotation))
	})

	It("puts the cordon of a person back, which Rancher does not remember", func(ctx SpecContext) {
		w := newRancherWorld(ctx, evicting)
		w.cordons(ctx, "kubectl-cordon", "true")
		w.cordons(ctx, rancher.FieldManager, "true")
		w.handsBack(ctx)
		w.drive(ctx, w.isAt(ctx, "HandBack"))
		Expect(w.node(ctx).Annotations).To(HaveKeyWithValue(infrav1.PersonsCordonAnnotation, "kubectl-cordon"))
		w.ends(ctx)
		w.drive(ctx, nil)
		expected := clean
		expected.Unschedulable = true
		Expect(w.marks(ctx)).To(Equal(expected))
		Expect(w.node(ctx).Annotations).NotTo(Or(HaveKey(infrav1.MarkedByAnnotation), HaveKey(infrav1.PersonsCordonAnnotation)))
	})

	It("evicts the Pods itself where Rancher's drain is disabled", func(ctx SpecContext) {
		w := newRancherWorld(ctx, notEvicting)
		guardPod(ctx, w.world)
		w.cordons(ctx, rancher.FieldManager, "true")
		w.handsBack(ctx)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Position()).To(Equal("Drain (8/16)"))
		allowEviction(ctx, w.world)
		w.drive(ctx, w.isAt(ctx, "HandBack"))
		Expect(get(ctx, w.world, "web", &corev1.Pod{})).To(BeNil())
	})

	It("evicts nothing from the only Node, where Rancher's drain is disabled", func(ctx SpecContext) {
		w := newRancherWorld(ctx, notEvicting)
		Expect(live.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.otherNode()}})).To(Succeed())
		guardPod(ctx, w.world)
		w.cordons(ctx, rancher.FieldManager, "true")
		w.handsBack(ctx)
		w.drive(ctx, w.isAt(ctx, "HandBack"))
		Expect(w.faults.triggers).To(HaveLen(1))
		Expect(get(ctx, w.world, "web", &corev1.Pod{})).NotTo(BeNil())
	})

	DescribeTable("ends before the host is triggered, if it is", func(ctx SpecContext, edit func(map[string]string), why string) {
		w := newRancherWorld(ctx, evicting)
		w.cordons(ctx, rancher.FieldManager, "true")
		w.drive(ctx, w.isAt(ctx, "HandOver"))
		w.says(ctx, edit)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSuperseded))
		Expect(w.status(ctx).Message).To(Equal(w.inWords(why)))
		Expect(w.faults.triggers).To(BeEmpty())
		Expect(w.marks(ctx)).To(And(HaveField("Slots", 0), HaveField("Unschedulable", true), HaveField("BlockMove", false)), "Rancher uncordons")
		Expect(w.node(ctx).Annotations).NotTo(HaveKey(infrav1.MarkedByAnnotation))
	},
		Entry("not asked for any more", func(all map[string]string) { clear(all) },
			"Rancher does not drain Node HOST any more: the upgrade starts again with its next drain"),
		Entry("reverted", func(all map[string]string) { all[rancher.UncordonAnnotation] = all[rancher.DrainOptionsAnnotation] },
			"what Rancher drains Node HOST for was reverted: the upgrade starts again with its next drain"),
	)

	It("waits at Admit until its Node is drained, and again after a drain that was reverted, while its host has the image", func(ctx SpecContext) {
		w := newRancherWorld(ctx, evicting)
		held := func() {
			GinkgoHelper()
			w.drive(ctx, w.isAt(ctx, "Admit"))
			w.rest(ctx)
			Expect(w.status(ctx).Holds).To(ConsistOf(HaveField("Reason", infrav1.HoldRancherNotDraining)))
			Expect(get(ctx, w.world, w.host, &infrav1.ElementalHost{}).Status.Upgrade).To(HaveField("Phase", infrav1.HostUpgradeFetched))
			Expect(w.marks(ctx)).To(And(HaveField("Slots", 0), HaveField("BlockMove", false)))
		}
		w.ends(ctx)
		held()
		w.asks(ctx, rancher.DrainOptionsAnnotation, rancher.PreDrainAnnotation, rancher.UncordonAnnotation)
		held()
		w.ends(ctx)
		held()
		w.asks(ctx, rancher.DrainOptionsAnnotation, rancher.PreDrainAnnotation)
		w.cordons(ctx, rancher.FieldManager, "true")
		w.drive(ctx, w.isAt(ctx, "HandOver"))
		Expect(w.marks(ctx)).To(HaveField("Slots", 1))
	})

	It("takes no slot for a drain that has ended and that the cache still has", func(ctx SpecContext) {
		w := newRancherWorld(ctx, evicting)
		stale := get(ctx, w.world, "plan", &corev1.Secret{})
		w.ends(ctx)
		w.reconciler.Drains = cachedPlan{of: stale}
		w.drive(ctx, w.isAt(ctx, "Admit"))
		w.rest(ctx)
		Expect(w.status(ctx).Holds).To(ConsistOf(HaveField("Reason", infrav1.HoldRancherNotDraining)))
		Expect(w.marks(ctx)).To(HaveField("Slots", 0))
	})

	It("goes on once the host is triggered, whether or not Rancher still drains", func(ctx SpecContext) {
		w := newRancherWorld(ctx, evicting)
		w.cordons(ctx, rancher.FieldManager, "true")
		w.handsBack(ctx)
		w.drive(ctx, w.isAt(ctx, "Reboot"))
		w.ends(ctx)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(w.faults.triggers).To(HaveLen(1))
	})

	It("is not judged by a manager that does not watch Rancher's plan secrets", func(ctx SpecContext) {
		w := newRancherWorld(ctx, evicting)
		_, err := w.reconcile(ctx) // which stores its marks
		Expect(err).NotTo(HaveOccurred())
		w.reconciler.Drains = nil
		_, err = w.reconcile(ctx)
		Expect(err).To(MatchError("this manager does not watch Rancher's plan secrets"))
		Expect(w.marks(ctx).Asked).To(BeFalse())
	})
})
