// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// installOtherControlPlane installs a kind of control plane that this provider does not know.
func installOtherControlPlane() {
	GinkgoHelper()
	_, err := envtest.InstallCRDs(plane.Config, envtest.CRDInstallOptions{Paths: []string{"testdata"}})
	Expect(err).NotTo(HaveOccurred())
}

func otherControlPlane(namespace string, machineTemplate map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"machineTemplate": machineTemplate}}}
	object.SetAPIVersion("controlplane.cluster.x-k8s.io/v1")
	object.SetKind("OtherControlPlane")
	object.SetNamespace(namespace)
	object.SetName("cp")
	object.SetLabels(map[string]string{clusterv1.ClusterNameLabel: "c"})
	return object
}

func machineOf(controlPlane *unstructured.Unstructured) *clusterv1.Machine {
	machine := ownertest.ControlPlaneMachine(ownertest.KubeadmControlPlane(controlPlane.GetNamespace(), "none", "c", "t"), "m")
	machine.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(controlPlane, controlPlane.GroupVersionKind())}
	return machine
}

var _ = Describe("The guard, when the reference of a control plane of another kind is changed", Ordered, func() {
	BeforeAll(func() {
		installOtherControlPlane()
	})

	v1beta2 := func(kind, name string) map[string]any {
		return map[string]any{"spec": map[string]any{"infrastructureRef": map[string]any{
			"apiGroup": infrav1.GroupVersion.Group, "kind": kind, "name": name,
		}}}
	}
	v1beta1 := func(kind, name string) map[string]any {
		return map[string]any{"infrastructureRef": map[string]any{"apiVersion": infrav1.GroupVersion.String(), "kind": kind, "name": name}}
	}
	const ours = "ElementalMachineTemplate"

	DescribeTable("denies what would replace Machines, and nothing else",
		func(policy infrav1.ReplacementPolicy, before, after map[string]any, isDenied bool) {
			namespace := plane.NewNamespace(ctx)
			cluster, elemental := ownertest.Cluster(namespace, "c", infrav1.NodeUpgradeOption{Replacement: policy})
			controlPlane := otherControlPlane(namespace, before)
			plane.Create(ctx, cluster, elemental, controlPlane)
			plane.Create(ctx, machineOf(controlPlane))
			changed := controlPlane.DeepCopy()
			Expect(unstructured.SetNestedMap(changed.Object, after, "spec", "machineTemplate")).To(Succeed())
			err := c.Patch(ctx, changed, client.MergeFrom(controlPlane))
			if !isDenied {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(beDenied("the Machines of OtherControlPlane cp would be replaced and their hosts reset",
				"replacement: Allow in spec.nodeUpgradeOption of ElementalCluster c"))
		},
		Entry("of contract v1beta2", infrav1.ReplacementDeny, v1beta2(ours, "a"), v1beta2(ours, "b"), true),
		Entry("of contract v1beta1", infrav1.ReplacementDeny, v1beta1(ours, "a"), v1beta1(ours, "b"), true),
		Entry("from our templates", infrav1.ReplacementDeny, v1beta2(ours, "a"), v1beta2("OtherTemplate", "a"), true),
		Entry("to our templates", infrav1.ReplacementDeny, v1beta1("OtherTemplate", "a"), v1beta1(ours, "a"), true),
		Entry("where replacement is allowed", infrav1.ReplacementAllow, v1beta2(ours, "a"), v1beta2(ours, "b"), false),
		Entry("between templates of others", infrav1.ReplacementDeny, v1beta2("OtherTemplate", "a"), v1beta2("OtherTemplate", "b"), false),
		Entry("not at all", infrav1.ReplacementDeny, v1beta2(ours, "a"), v1beta2(ours, "a"), false),
	)

	It("permits it while there is no Cluster, and so no Machine", func() {
		controlPlane := otherControlPlane(plane.NewNamespace(ctx), v1beta2(ours, "a"))
		plane.Create(ctx, controlPlane)
		changed := controlPlane.DeepCopy()
		Expect(unstructured.SetNestedField(changed.Object, "b", "spec", "machineTemplate", "spec", "infrastructureRef", "name")).To(Succeed())
		Expect(c.Patch(ctx, changed, client.MergeFrom(controlPlane))).To(Succeed())
	})

	DescribeTable("finds the reference of former versions", func(field string) {
		namespace := plane.NewNamespace(ctx)
		cluster, elemental := ownertest.Cluster(namespace, "c", infrav1.NodeUpgradeOption{})
		controlPlane := otherControlPlane(namespace, nil)
		named := func(template string) map[string]any {
			return map[string]any{"apiVersion": infrav1.GroupVersion.String(), "kind": ours, "name": template}
		}
		Expect(unstructured.SetNestedMap(controlPlane.Object, named("a"), "spec", field)).To(Succeed())
		plane.Create(ctx, cluster, elemental, controlPlane)
		plane.Create(ctx, machineOf(controlPlane))
		changed := controlPlane.DeepCopy()
		Expect(unstructured.SetNestedMap(changed.Object, named("b"), "spec", field)).To(Succeed())
		Expect(c.Patch(ctx, changed, client.MergeFrom(controlPlane))).To(beDenied("would be replaced and their hosts reset"))
	},
		Entry("of K3s", "infrastructureTemplate"),
		Entry("of RKE2", "infrastructureRef"),
	)

	It("permits it for one that belongs to no Cluster yet", func() {
		controlPlane := otherControlPlane(plane.NewNamespace(ctx), v1beta2(ours, "a"))
		controlPlane.SetLabels(nil)
		plane.Create(ctx, controlPlane)
		changed := controlPlane.DeepCopy()
		Expect(unstructured.SetNestedField(changed.Object, "b", "spec", "machineTemplate", "spec", "infrastructureRef", "name")).To(Succeed())
		Expect(c.Patch(ctx, changed, client.MergeFrom(controlPlane))).To(Succeed())
	})

	It("permits it for one that has made no Machine, and says how a topology keeps the reference of one that has", func() {
		namespace := plane.NewNamespace(ctx)
		cluster, elemental := ownertest.Cluster(namespace, "c", infrav1.NodeUpgradeOption{})
		controlPlane := otherControlPlane(namespace, v1beta2(ours, "misspelt"))
		controlPlane.SetLabels(map[string]string{clusterv1.ClusterNameLabel: "c", clusterv1.ClusterTopologyOwnedLabel: ""})
		plane.Create(ctx, cluster, elemental, controlPlane)
		pointTo := func(name string) error {
			changed := controlPlane.DeepCopy()
			Expect(unstructured.SetNestedField(changed.Object, name, "spec", "machineTemplate", "spec", "infrastructureRef", "name")).To(Succeed())
			return c.Patch(ctx, changed, client.MergeFrom(controlPlane))
		}
		Expect(pointTo("right")).To(Succeed())
		plane.Create(ctx, machineOf(controlPlane))
		Expect(pointTo("another")).To(beDenied("set the former image in spec.topology.controlPlane.variables.overrides of the Cluster"))
	})
})
