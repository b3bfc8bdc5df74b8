// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// setCordon is what a field manager does to the Node, as kubectl and Rancher do it.
func (w *world) setCordon(ctx context.Context, manager, patch string) {
	GinkgoHelper()
	Expect(server.Client.Patch(ctx, w.readNode(ctx), client.RawPatch(types.StrategicMergePatchType, []byte(patch)), client.FieldOwner(manager))).To(Succeed())
}

// joinAgain makes the Node as a kubelet does, with a label: the API server records no managers of what was created without any field.
func (w *world) joinAgain(ctx context.Context) {
	GinkgoHelper()
	Expect(server.Client.Delete(ctx, w.readNode(ctx))).To(Succeed())
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.node, Labels: map[string]string{corev1.LabelHostname: w.node}}}
	Expect(server.Client.Create(ctx, node, client.FieldOwner("kubelet"))).To(Succeed())
}

const (
	cordon   = `{"spec":{"unschedulable":true}}`
	uncordon = `{"spec":{"unschedulable":null}}`
)

var _ = Describe("A Node that Rancher drains", func() {
	const attempt = "upgrade/12345678"
	var w *world

	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	mark := func(ctx context.Context, before string) {
		GinkgoHelper()
		w.setCordon(ctx, "rancher", cordon)
		Expect(w.cluster.MarkCordoned(ctx, w.readNode(ctx), attempt, before)).To(Succeed())
		Expect(workload.CordonedBy(w.readNode(ctx))).To(Equal(attempt))
		Expect(w.readNode(ctx).Spec.Unschedulable).To(BeTrue())
	}

	It("is marked by the attempt, and left schedulable when Rancher has uncordoned it", func(ctx SpecContext) {
		mark(ctx, "")
		Expect(w.readNode(ctx).Annotations).NotTo(HaveKey(infrav1.PersonsCordonAnnotation))
		w.setCordon(ctx, "rancher", uncordon)
		Expect(w.cluster.Uncordon(ctx, w.readNode(ctx), attempt)).To(Succeed())
		Expect(w.readNode(ctx).Spec.Unschedulable).To(BeFalse())
		Expect(w.readNode(ctx).Annotations).To(BeEmpty())
	})

	It("is cordoned again when Rancher has uncordoned it, if a person had cordoned it before", func(ctx SpecContext) {
		mark(ctx, "kubectl-cordon")
		Expect(w.readNode(ctx).Annotations).To(HaveKeyWithValue(infrav1.PersonsCordonAnnotation, "kubectl-cordon"))
		w.setCordon(ctx, "rancher", uncordon)
		Expect(w.cluster.Uncordon(ctx, w.readNode(ctx), "upgrade/other")).To(Succeed())
		Expect(w.readNode(ctx).Spec.Unschedulable).To(BeFalse(), "that is for the attempt to do")
		Expect(w.cluster.Uncordon(ctx, w.readNode(ctx), attempt)).To(Succeed())
		Expect(w.readNode(ctx).Spec.Unschedulable).To(BeTrue())
		Expect(w.readNode(ctx).Annotations).To(BeEmpty())
		Expect(w.cluster.Uncordon(ctx, w.readNode(ctx), attempt)).To(Succeed())
		Expect(w.readNode(ctx).Spec.Unschedulable).To(BeTrue(), "nothing of it is the attempt's any more")
	})

	It("stays as it is when it is not Rancher's to uncordon, and the attempt ends", func(ctx SpecContext) {
		mark(ctx, "")
		Expect(w.cluster.Uncordon(ctx, w.readNode(ctx), attempt)).To(Succeed())
		Expect(w.readNode(ctx).Spec.Unschedulable).To(BeTrue(), "Rancher uncordons it")
		Expect(workload.CordonedBy(w.readNode(ctx))).To(BeEmpty())
	})

	It("is marked only as it was read", func(ctx SpecContext) {
		seen := w.readNode(ctx)
		w.setCordon(ctx, "kubectl-cordon", cordon)
		Expect(apierrors.IsConflict(w.cluster.MarkCordoned(ctx, seen, attempt, ""))).To(BeTrue())
	})
})

var _ = Describe("The field manager that has cordoned a Node", func() {
	var w *world

	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx); w.joinAgain(ctx) })

	It("is that of the first who did, whoever did so again", func(ctx SpecContext) {
		w.setCordon(ctx, "labels", `{"metadata":{"labels":{"a":"b"}}}`)
		Expect(workload.CordonManager(w.readNode(ctx))).To(BeEmpty())
		w.setCordon(ctx, "kubectl-cordon", cordon)
		Expect(workload.CordonManager(w.readNode(ctx))).To(Equal("kubectl-cordon"))
		w.setCordon(ctx, "rancher", cordon)
		Expect(workload.CordonManager(w.readNode(ctx))).To(Equal("kubectl-cordon"), "Rancher has changed nothing")
		w.setCordon(ctx, "rancher", uncordon)
		Expect(workload.CordonManager(w.readNode(ctx))).To(BeEmpty())
		w.setCordon(ctx, "rancher", cordon)
		Expect(workload.CordonManager(w.readNode(ctx))).To(Equal("rancher"))
	})

	It("is not known without managed fields, or by ones that nobody can read", func(ctx SpecContext) {
		w.setCordon(ctx, "kubectl-cordon", cordon)
		node := w.readNode(ctx)
		for i := range node.ManagedFields {
			node.ManagedFields[i].FieldsV1.SetRawBytes([]byte("{"))
		}
		Expect(workload.CordonManager(node)).To(BeEmpty())
		node.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl-cordon"}}
		Expect(workload.CordonManager(node)).To(BeEmpty())
		node.ManagedFields = nil
		Expect(workload.CordonManager(node)).To(BeEmpty())
	})

	It("is not that of what stands in a status or an annotation of this name", func(ctx SpecContext) {
		w.setCordon(ctx, "kubectl-annotate", `{"metadata":{"annotations":{"unschedulable":"true"}}}`)
		w.setCordon(ctx, "rancher", cordon)
		Expect(workload.CordonManager(w.readNode(ctx))).To(Equal("rancher"))
		node := &corev1.Node{}
		Expect(workload.CordonManager(node)).To(BeEmpty())
	})
})
