// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// kinds of this provider that a cluster has after an upgrade.
var kinds = []string{
	"ElementalCluster", "ElementalMachineTemplate", "ElementalMachine", "ElementalHost", "ElementalHostUpgrade", "ElementalRegistration",
}

var _ = Describe("OwnerReferences chain", func() {
	It("leads from every object of the cluster to the Cluster, or to a host, which is moved because of the label of its CRD", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		for _, kind := range kinds {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(infrav1.GroupVersion.WithKind(kind + "List"))
			Expect(theLab.Kube.List(ctx, list, client.InNamespace(cluster.Namespace()))).To(Succeed())
			Expect(list.Items).NotTo(BeEmpty(), kind)
			for i := range list.Items {
				Expect(isChained(ctx, kind, list.Items[i].OwnerReferences)).To(BeTrue(), kind+" "+list.Items[i].Name)
			}
		}
	})
})

// isChained reports whether clusterctl finds an object by its owners, their owners, and so on, or by the label of
// its kind.
func isChained(ctx context.Context, kind string, owners []metav1.OwnerReference) bool {
	GinkgoHelper()
	if kind == "Cluster" {
		return true
	}
	if slices.Contains(kinds, kind) {
		if _, moved := definition(ctx, kind).GetLabels()[clusterctlv1.ClusterctlMoveLabel]; moved {
			return true
		}
	}
	return slices.ContainsFunc(owners, func(reference metav1.OwnerReference) bool {
		owner := &metav1.PartialObjectMetadata{}
		owner.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(reference.Kind))
		owner.APIVersion = reference.APIVersion
		Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: reference.Name}, owner)).To(Succeed())
		return isChained(ctx, reference.Kind, owner.OwnerReferences)
	})
}
