// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// No extension and no Deployment of Cluster API is installed on this API server: the way in place is never
// proven here. What is looked for, and what is enough, is a matter of package machinetemplate's tests.
var _ = Describe("The guard, when a reference is changed by hand", func() {
	It("denies what would replace Machines, by default, with all that is in the way", func() {
		p := newPoolWith(infrav1.NodeUpgradeOption{})
		Expect(p.goTo("new")).To(And(beDenied("would be replaced", "--runtime-extension elemental", "InPlaceUpdates",
			"replacement: Allow in spec.nodeUpgradeOption of ElementalCluster c"), MatchError(Not(ContainSubstring("topology")))))
	})

	It("permits it while there is no Cluster, and so no Machine", func() {
		md := ownertest.MachineDeployment(plane.NewNamespace(ctx), "md", "c", "old", 3)
		plane.Create(ctx, md)
		ownertest.Observe(ctx, c, md, 0)
		Expect((&pool{md: md}).goTo("new")).To(Succeed())
	})
})

var _ = Describe("The guard, when the topology controller changes a reference", func() {
	newTopologyPool := func(options infrav1.NodeUpgradeOption) *pool {
		p := newPoolWith(options)
		base := p.md.DeepCopy()
		p.md.Labels = map[string]string{clusterv1.ClusterTopologyOwnedLabel: ""}
		Expect(c.Patch(ctx, p.md, client.MergeFrom(base))).To(Succeed())
		return p
	}

	It("denies what would replace Machines, by default, with all that is in the way", func() {
		p := newTopologyPool(infrav1.NodeUpgradeOption{})
		Expect(p.goTo("new")).To(beDenied("would be replaced", "--runtime-extension elemental", "InPlaceUpdates",
			"replacement: Allow in spec.nodeUpgradeOption of ElementalCluster c"))
	})

	It("judges the strategy that comes with the change", func() {
		p := newTopologyPool(infrav1.NodeUpgradeOption{})
		p.md.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromInt32(1))
		Expect(c.Update(ctx, p.md)).To(Succeed())
		ownertest.Observe(ctx, c, p.md, 3)
		Expect(p.goTo("new")).To(beDenied("MachineDeployment md has spec.rollout.strategy.rollingUpdate.maxSurge 1: set maxSurge 0"))
		base := p.md.DeepCopy()
		p.md.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromInt32(0))
		p.md.Spec.Template.Spec.InfrastructureRef.Name = "new"
		Expect(c.Patch(ctx, p.md, client.MergeFrom(base))).To(And(MatchError(ContainSubstring("would be replaced")),
			MatchError(Not(ContainSubstring("maxSurge")))))
	})

	It("permits it where replacement is allowed", func() {
		p := newTopologyPool(infrav1.NodeUpgradeOption{Replacement: infrav1.ReplacementAllow})
		Expect(p.goTo("new")).To(Succeed())
	})

	It("denies it at an unquiet moment all the same", func() {
		p := newTopologyPool(infrav1.NodeUpgradeOption{Replacement: infrav1.ReplacementAllow})
		p.has("old", 2, 3)
		Expect(p.goTo("new")).To(beDenied("MachineSet ms-old has 3 Machines and is to have 2", "Retry"))
	})

	It("lets other changes pass", func() {
		p := newTopologyPool(infrav1.NodeUpgradeOption{})
		base := p.md.DeepCopy()
		p.md.Spec.Replicas = ptr.To[int32](5)
		Expect(c.Patch(ctx, p.md, client.MergeFrom(base))).To(Succeed())
	})
})

var _ = Describe("The guard, when a control plane is pointed to a template", func() {
	// The rule that the provider ID is set once is the CRD's, and as good as any webhook's or policy's.
	It("denies what the API server would not let its Machines have, of which KubeadmControlPlane would delete them", func() {
		namespace := plane.NewNamespace(ctx)
		cluster, elemental := ownertest.Cluster(namespace, "c", infrav1.NodeUpgradeOption{})
		kcp := ownertest.KubeadmControlPlane(namespace, "cp", "c", "good")
		plane.Create(ctx, cluster, elemental, kcp)
		ownertest.Observe(ctx, c, kcp, 3)
		machine := ownertest.ElementalMachine(namespace, "m", "good", "x")
		machine.Spec.ProviderID = "elemental://" + namespace + "/h1"
		other := ownertest.Template(namespace, "other", "x")
		other.Spec.Template.Spec.ProviderID = "elemental://" + namespace + "/h2"
		plane.Create(ctx, ownertest.ControlPlaneMachine(kcp, "m"), machine, other, ownertest.Template(namespace, "better", "x"))

		pointTo := func(template string) error {
			changed := kcp.DeepCopy()
			changed.Spec.MachineTemplate.Spec.InfrastructureRef.Name = template
			return c.Patch(ctx, changed, client.MergeFrom(kcp))
		}
		Expect(pointTo("other")).To(beDenied("KubeadmControlPlane cp would delete Machine m instead of updating it", "providerID is set once"))
		Expect(pointTo("better")).To(And(MatchError(ContainSubstring("would be replaced")), MatchError(Not(ContainSubstring("would delete Machine")))))
	})
})
