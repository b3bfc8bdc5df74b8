// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// asController deletes as a controller of the management cluster does.
func asController() client.Client {
	GinkgoHelper()
	config := rest.CopyConfig(plane.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:capi:manager", Groups: []string{"system:masters"}}
	controller, err := client.New(config, client.Options{Scheme: plane.Scheme})
	Expect(err).NotTo(HaveOccurred())
	return controller
}

var _ = Describe("The guard, when a controller deletes a control plane Machine", func() {
	var (
		cluster *clusterv1.Cluster
		kcp     *controlplanev1.KubeadmControlPlane
		first   *clusterv1.Machine
	)
	withNode := func(name string) *clusterv1.Machine {
		GinkgoHelper()
		machine := ownertest.ControlPlaneMachine(kcp, name)
		plane.Create(ctx, machine)
		before := machine.DeepCopy()
		machine.Status.NodeRef.Name = "node-" + name
		Expect(c.Status().Patch(ctx, machine, client.MergeFrom(before))).To(Succeed())
		return machine
	}
	begin := func(options infrav1.NodeUpgradeOption) {
		GinkgoHelper()
		namespace := plane.NewNamespace(ctx)
		var elemental *infrav1.ElementalCluster
		cluster, elemental = ownertest.Cluster(namespace, "c", options)
		kcp = ownertest.KubeadmControlPlane(namespace, "cp", "c", "t")
		plane.Create(ctx, cluster, elemental, kcp)
		first = withNode("first")
	}
	keep := func(object client.Object) {
		GinkgoHelper()
		before, _ := object.DeepCopyObject().(client.Object)
		object.SetFinalizers([]string{"example.com/keep"})
		Expect(c.Patch(ctx, object, client.MergeFrom(before))).To(Succeed())
		Expect(c.Delete(ctx, object)).To(Succeed())
	}

	It("denies it for the last one, and says where to allow it", func() {
		begin(infrav1.NodeUpgradeOption{})
		Expect(asController().Delete(ctx, first)).To(beDenied("the last control plane Machine with a healthy Node of Cluster c",
			"replacement: Allow in spec.nodeUpgradeOption of ElementalCluster c", "delete it yourself"))

		By("one beside it that has no Node yet, and one that is being deleted, which do not count")
		plane.Create(ctx, ownertest.ControlPlaneMachine(kcp, "second"))
		keep(withNode("third"))
		Expect(asController().Delete(ctx, first)).To(beDenied("the last control plane Machine"))

		By("one whose Node is lost")
		lost := withNode("lost")
		before := lost.DeepCopy()
		lost.Status.Conditions = []metav1.Condition{{
			Type: clusterv1.MachineNodeHealthyCondition, Status: metav1.ConditionUnknown, Reason: "Unknown", LastTransitionTime: metav1.Now(),
		}}
		Expect(c.Status().Patch(ctx, lost, client.MergeFrom(before))).To(Succeed())
		Expect(asController().Delete(ctx, first)).To(beDenied("the last control plane Machine"))

		By("a control plane of a kind that is not served")
		before = first.DeepCopy()
		first.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Gone", Name: "cp", UID: "1", Controller: new(true)}}
		Expect(c.Patch(ctx, first, client.MergeFrom(before))).To(Succeed())
		Expect(asController().Delete(ctx, first)).To(beDenied("the last control plane Machine"))

		By("one that serves")
		withNode("fourth")
		Expect(asController().Delete(ctx, first)).To(Succeed())
	})

	DescribeTable("permits it", func(options infrav1.NodeUpgradeOption, change func(), by func() client.Client) {
		begin(options)
		change()
		Expect(by().Delete(ctx, first)).To(Succeed())
	},
		Entry("by a user", infrav1.NodeUpgradeOption{}, func() {}, func() client.Client { return c }),
		Entry("where replacement is allowed", infrav1.NodeUpgradeOption{Replacement: infrav1.ReplacementAllow}, func() {}, asController),
		Entry("of a move to another management cluster", infrav1.NodeUpgradeOption{},
			func() { annotate(first, "clusterctl.cluster.x-k8s.io/delete-for-move") }, asController),
		Entry("of a Cluster that is being deleted", infrav1.NodeUpgradeOption{}, func() { keep(cluster) }, asController),
		Entry("of a Cluster that is gone", infrav1.NodeUpgradeOption{}, func() { Expect(c.Delete(ctx, cluster)).To(Succeed()) }, asController),
		Entry("of a control plane that is being deleted", infrav1.NodeUpgradeOption{}, func() { keep(kcp) }, asController),
		Entry("of a Machine without a Node", infrav1.NodeUpgradeOption{}, func() {
			before := first.DeepCopy()
			first.Status.NodeRef.Name = ""
			Expect(c.Status().Patch(ctx, first, client.MergeFrom(before))).To(Succeed())
		}, asController),
	)
})
