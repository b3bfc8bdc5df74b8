// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// read returns a Cluster and its ElementalCluster of the same name.
func read(ctx context.Context, name string) (*clusterv1.Cluster, *infrav1.ElementalCluster) {
	GinkgoHelper()
	owner, elemental := &clusterv1.Cluster{}, &infrav1.ElementalCluster{}
	key := client.ObjectKey{Namespace: cluster.Namespace(), Name: name}
	Expect(theLab.Kube.Get(ctx, key, owner)).To(Succeed())
	Expect(theLab.Kube.Get(ctx, key, elemental)).To(Succeed())
	return owner, elemental
}

// makeCluster creates a Cluster without machines.
func makeCluster(ctx context.Context, name string, change func(*infrav1.ElementalCluster)) {
	GinkgoHelper()
	elemental := &infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(), Name: name}}
	change(elemental)
	owner := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(), Name: name}}
	owner.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalCluster", Name: name}
	Expect(theLab.Kube.Create(ctx, elemental)).To(Succeed())
	Expect(theLab.Kube.Create(ctx, owner)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(theLab.Kube.Delete(ctx, owner))).To(Succeed()) })
}

var endpoint = clusterv1.APIEndpoint{Host: "192.168.122.50", Port: 6443}

var _ = Describe("The contract of InfraCluster", func() {
	tried := rules{
		"InfraCluster, InfraClusterList resource definition":                 isDefined("ElementalCluster"),
		"InfraClusterTemplate, InfraClusterTemplateList resource definition": isDefined("ElementalClusterTemplate"),
		"InfraCluster: terminal failures":                                    noTerminalFailures("ElementalCluster"),
		"InfraCluster: control plane endpoint": func(ctx SpecContext) {
			makeCluster(ctx, "endpoint", func(e *infrav1.ElementalCluster) { e.Spec.ControlPlaneEndpoint = endpoint })
			Eventually(func() clusterv1.APIEndpoint {
				owner, _ := read(ctx, "endpoint")
				return owner.Spec.ControlPlaneEndpoint
			}).
				Should(Equal(endpoint))
		},
		"InfraCluster: failure domains": func(ctx SpecContext) {
			Eventually(func() []clusterv1.FailureDomain {
				owner, _ := read(ctx, cluster.Options.Name)
				return owner.Status.FailureDomains
			}).
				Should(ContainElement(HaveField("Name", zoneA)), "the host of the other zone registers again, without it, when it was reset")
		},
		"InfraCluster: initialization completed": func(ctx SpecContext) {
			owner, elemental := read(ctx, cluster.Options.Name)
			Expect(elemental.Status.Initialization.Provisioned).To(HaveValue(BeTrue()))
			Expect(owner.Status.Initialization.InfrastructureProvisioned).To(HaveValue(BeTrue()))
		},
		"InfraCluster: conditions": func(ctx SpecContext) {
			owner, elemental := read(ctx, cluster.Options.Name)
			Expect(conditions.IsTrue(elemental, clusterv1.ReadyCondition)).To(BeTrue())
			Expect(conditions.IsTrue(owner, clusterv1.InfrastructureReadyCondition)).To(BeTrue(), "it is mirrored")
		},
		"Externally managed infrastructure": triesExternal,
		"InfraCluster: pausing": func(ctx SpecContext) {
			triesPausing(ctx, func() conditions.Getter { _, elemental := read(ctx, cluster.Options.Name); return elemental })
		},
	}
	maps.Copy(tried, common("ElementalCluster", "ElementalClusterTemplate"))
	tried.declare("infra-cluster.md")
})

// triesExternal leaves an ElementalCluster to an external controller, whose status Cluster API
// uses.
func triesExternal(ctx SpecContext) {
	makeCluster(ctx, "external", func(e *infrav1.ElementalCluster) {
		e.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "terraform"}
		e.Spec.ControlPlaneEndpoint = endpoint
	})
	Consistently(func() infrav1.ElementalClusterStatus { _, elemental := read(ctx, "external"); return elemental.Status }, calm).
		Should(BeZero(), "neither the resource nor its status is written")
	_, elemental := read(ctx, "external")
	before := elemental.DeepCopy()
	elemental.Status.Initialization.Provisioned = ptr.To(true)
	elemental.Status.FailureDomains = []clusterv1.FailureDomain{{Name: "theirs", ControlPlane: ptr.To(true)}}
	Expect(theLab.Kube.Status().Patch(ctx, elemental, client.MergeFrom(before))).To(Succeed())
	Eventually(func() *clusterv1.Cluster { owner, _ := read(ctx, "external"); return owner }).Should(And(
		HaveField("Status.Initialization.InfrastructureProvisioned", HaveValue(BeTrue())),
		HaveField("Status.FailureDomains", ConsistOf(HaveField("Name", "theirs"))),
		HaveField("Spec.ControlPlaneEndpoint", endpoint)))
}
