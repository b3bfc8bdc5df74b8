// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rke2"
)

var _ = Describe("The guard, when the reference of an RKE2ControlPlane is changed", func() {
	begin := func(replicas int32, options infrav1.NodeUpgradeOption) *rke2.ControlPlane {
		GinkgoHelper()
		namespace := plane.NewNamespace(ctx)
		cluster, elemental := ownertest.Cluster(namespace, "c", options)
		of := ownertest.RKE2ControlPlane(namespace, "cp", "c", "good")
		of.Spec.Replicas = ptr.To(replicas)
		plane.Create(ctx, cluster, elemental, of)
		ownertest.Observe(ctx, c, of, replicas)
		return of
	}
	pointTo := func(of *rke2.ControlPlane, template string) error {
		changed := of.DeepCopy()
		changed.Spec.MachineTemplate.Spec.InfrastructureRef.Name = template
		return c.Patch(ctx, changed, client.MergeFrom(of))
	}

	It("denies what would replace Machines, with all that is in the way", func() {
		Expect(pointTo(begin(3, infrav1.NodeUpgradeOption{}), "new")).To(beDenied("would be replaced", "--runtime-extension elemental",
			"cluster.x-k8s.io/provider=control-plane-rke2", "replacement: Allow in spec.nodeUpgradeOption of ElementalCluster c"))
		Expect(pointTo(begin(1, infrav1.NodeUpgradeOption{}), "new")).To(beDenied("has spec.replicas 1 and cannot be updated in place"))
	})

	It("permits it where replacement is allowed, in whatever version it is written", func() {
		of := begin(3, infrav1.NodeUpgradeOption{Replacement: infrav1.ReplacementAllow})
		plane.Create(ctx, ownertest.RKE2Machine(of, "m"))
		old := &unstructured.Unstructured{}
		old.SetAPIVersion("controlplane.cluster.x-k8s.io/v1beta1")
		old.SetKind(rke2.ControlPlaneKind)
		Expect(c.Get(ctx, client.ObjectKeyFromObject(of), old)).To(Succeed())
		changed := old.DeepCopy()
		Expect(unstructured.SetNestedField(changed.Object, "new", "spec", "machineTemplate", "spec", "infrastructureRef", "name")).To(Succeed())
		Expect(c.Patch(ctx, changed, client.MergeFrom(old))).To(beDenied("Machine m has no Node yet"), "the moment is judged")
	})
})
