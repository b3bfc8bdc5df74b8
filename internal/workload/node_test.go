// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

var _ = Describe("A Node", func() {
	const attempt = "upgrade/12345678"
	var w *world

	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	It("is cordoned in the name of an attempt, and uncordoned by that one alone", func(ctx SpecContext) {
		Expect(w.cluster.Cordon(ctx, w.readNode(ctx), attempt)).To(Succeed())
		Expect(w.readNode(ctx).Spec.Unschedulable).To(BeTrue())
		Expect(workload.CordonedBy(w.readNode(ctx))).To(Equal(attempt))

		Expect(w.cluster.Uncordon(ctx, w.readNode(ctx), "upgrade/other")).To(Succeed())
		Expect(w.readNode(ctx).Spec.Unschedulable).To(BeTrue())

		Expect(w.cluster.Uncordon(ctx, w.readNode(ctx), attempt)).To(Succeed())
		Expect(w.readNode(ctx).Spec.Unschedulable).To(BeFalse())
		Expect(w.readNode(ctx).Annotations).NotTo(HaveKey(infrav1.CordonedByAnnotation))
	})

	It("stays as it is where a person has cordoned it", func(ctx SpecContext) {
		w.changeNode(ctx, func(node *corev1.Node) { node.Spec.Unschedulable = true })
		Expect(w.cluster.Cordon(ctx, w.readNode(ctx), attempt)).To(Succeed())
		Expect(workload.CordonedBy(w.readNode(ctx))).To(BeEmpty())
		Expect(w.cluster.Uncordon(ctx, w.readNode(ctx), attempt)).To(Succeed())
		Expect(w.readNode(ctx).Spec.Unschedulable).To(BeTrue())
	})

	It("is not taken for ours when a person cordons it at the same moment", func(ctx SpecContext) {
		seen := w.readNode(ctx)
		w.changeNode(ctx, func(node *corev1.Node) { node.Spec.Unschedulable = true })
		Expect(apierrors.IsConflict(w.cluster.Cordon(ctx, seen, attempt))).To(BeTrue())
		Expect(workload.CordonedBy(w.readNode(ctx))).To(BeEmpty())
	})

	It("belongs to nobody when a person has uncordoned it", func(ctx SpecContext) {
		Expect(w.cluster.Cordon(ctx, w.readNode(ctx), attempt)).To(Succeed())
		w.changeNode(ctx, func(node *corev1.Node) { node.Spec.Unschedulable = false })
		Expect(workload.CordonedBy(w.readNode(ctx))).To(BeEmpty())
		Expect(w.cluster.Uncordon(ctx, w.readNode(ctx), attempt)).To(Succeed())
		Expect(w.readNode(ctx).Annotations).NotTo(HaveKey(infrav1.CordonedByAnnotation))
	})

	It("is paused and resumed", func(ctx SpecContext) {
		Expect(w.cluster.Resume(ctx, w.readNode(ctx))).To(Succeed())
		Expect(w.cluster.Pause(ctx, w.readNode(ctx), "former")).To(Succeed())
		Expect(w.cluster.Pause(ctx, w.readNode(ctx), "rollout")).To(Succeed())
		Expect(w.readNode(ctx).Annotations).To(And(
			HaveKeyWithValue(infrav1.NodeUpgradePauseAnnotation, "rollout"), HaveKeyWithValue(infrav1.PausedByAnnotation, "rollout")))
		Expect(w.cluster.Resume(ctx, w.readNode(ctx))).To(Succeed())
		Expect(w.readNode(ctx).Annotations).NotTo(Or(HaveKey(infrav1.NodeUpgradePauseAnnotation), HaveKey(infrav1.PausedByAnnotation)))
	})

	It("is cleared of the pause of a rollout", func(ctx SpecContext) {
		Expect(w.cluster.Pause(ctx, w.readNode(ctx), "rollout")).To(Succeed())
		Expect(w.cluster.ClearPause(ctx, w.readNode(ctx))).To(Succeed())
		Expect(w.readNode(ctx).Annotations).NotTo(Or(HaveKey(infrav1.NodeUpgradePauseAnnotation), HaveKey(infrav1.PausedByAnnotation)))
	})

	It("keeps the pause of a person, which is noted and may be taken away for that person", func(ctx SpecContext) {
		w.changeNode(ctx, func(node *corev1.Node) {
			node.Annotations = map[string]string{infrav1.NodeUpgradePauseAnnotation: "lunch"}
		})
		Expect(w.cluster.Pause(ctx, w.readNode(ctx), "rollout")).To(Succeed())
		Expect(w.readNode(ctx).Annotations).To(And(
			HaveKeyWithValue(infrav1.NodeUpgradePauseAnnotation, "lunch"), HaveKeyWithValue(infrav1.PausedByAnnotation, "rollout")))
		Expect(w.cluster.ClearPause(ctx, w.readNode(ctx))).To(Succeed())
		Expect(w.cluster.ClearPause(ctx, w.readNode(ctx))).To(Succeed())
		Expect(w.readNode(ctx).Annotations).To(And(
			HaveKeyWithValue(infrav1.NodeUpgradePauseAnnotation, "lunch"), Not(HaveKey(infrav1.PausedByAnnotation))))
		Expect(w.cluster.Resume(ctx, w.readNode(ctx))).To(Succeed())
		Expect(w.readNode(ctx).Annotations).NotTo(HaveKey(infrav1.NodeUpgradePauseAnnotation))
	})

	It("may be missing", func(ctx SpecContext) {
		Expect(w.cluster.Node(ctx, "nowhere")).To(BeNil())
	})
})

var _ = DescribeTable("IsReady", func(ready bool, conditions ...corev1.NodeCondition) {
	node := &corev1.Node{Status: corev1.NodeStatus{Conditions: conditions}}
	Expect(workload.IsReady(node)).To(Equal(ready))
},
	Entry("no kubelet yet", false),
	Entry("Ready", true, condition(corev1.NodeReady, corev1.ConditionTrue)),
	Entry("not Ready", false, condition(corev1.NodeReady, corev1.ConditionFalse)),
	Entry("silent", false, condition(corev1.NodeReady, corev1.ConditionUnknown)),
	Entry("another condition", false, condition(corev1.NodeDiskPressure, corev1.ConditionTrue)),
)

var _ = DescribeTable("ReadinessOf tells two states of a Node apart", func(isOther bool, edit func(*corev1.Node)) {
	node := &corev1.Node{Status: corev1.NodeStatus{
		NodeInfo: corev1.NodeSystemInfo{BootID: "b"}, Conditions: []corev1.NodeCondition{condition(corev1.NodeReady, corev1.ConditionTrue)},
	}}
	before := workload.ReadinessOf(node)
	edit(node)
	if isOther {
		Expect(workload.ReadinessOf(node)).NotTo(Equal(before))
	} else {
		Expect(workload.ReadinessOf(node)).To(Equal(before))
	}
},
	Entry("nothing else", false, func(*corev1.Node) {}),
	Entry("a heartbeat", false, func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(time.Unix(9, 0)) }),
	Entry("another boot", true, func(n *corev1.Node) { n.Status.NodeInfo.BootID = "c" }),
	Entry("a kubelet that does not answer", true, func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }),
	Entry("Ready again, by a later time", true, func(n *corev1.Node) { n.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Unix(2, 0)) }),
	Entry("Ready again, by an earlier time", true, func(n *corev1.Node) { n.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Unix(0, 0)) }),
	Entry("no condition", true, func(n *corev1.Node) { n.Status.Conditions = nil }),
)

func condition(kind corev1.NodeConditionType, status corev1.ConditionStatus) corev1.NodeCondition {
	return corev1.NodeCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(time.Unix(1, 0))}
}
