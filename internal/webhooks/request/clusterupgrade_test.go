// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// newOwnedWorld is a world whose Machines are those of the MachineDeployment, by a MachineSet.
func newOwnedWorld(ctx context.Context) *world {
	GinkgoHelper()
	w := newWorld(ctx)
	deployment := ownertest.MachineDeployment(w.namespace, template, cluster, template, 2)
	Expect(live.Create(ctx, deployment)).To(Succeed())
	set := ownertest.MachineSet(deployment, template, template, 2)
	Expect(live.Create(ctx, set)).To(Succeed())
	for _, name := range []string{"a", "b"} {
		machine := &clusterv1.Machine{ObjectMeta: w.meta(name)}
		Expect(live.Get(ctx, client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		machine.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, clusterv1.GroupVersion.WithKind("MachineSet"))}
		Expect(live.Update(ctx, machine)).To(Succeed())
	}
	return w
}

// create an ElementalClusterUpgrade to v2 as a person does, after some changes of it.
func (w *world) create(ctx context.Context, changes ...func(*infrav1.ElementalClusterUpgrade)) error {
	GinkgoHelper()
	upgrade := &infrav1.ElementalClusterUpgrade{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "v2-"},
		Spec:       infrav1.ElementalClusterUpgradeSpec{ClusterName: cluster, OSVersion: infrav1.ClusterOSVersion{ImageURI: "oci://registry.test/os:v2"}},
	}
	for _, change := range changes {
		change(upgrade)
	}
	return person.Create(ctx, upgrade)
}

var _ = Describe("An ElementalClusterUpgrade that is created", func() {
	It("is admitted where nothing is in its way", func(ctx SpecContext) {
		w := newOwnedWorld(ctx)
		Expect(w.create(ctx)).To(Succeed())
		Expect(person.Warnings).To(BeEmpty())
	})

	It("is rejected with everything that is in its way, and admitted when that is gone", func(ctx SpecContext) {
		w := newOwnedWorld(ctx)
		w.changeNode(ctx, "a", cordon)
		withUnknown := func(u *infrav1.ElementalClusterUpgrade) {
			u.Spec.Order = []infrav1.PoolStage{{Pools: []string{template, "gpu"}}}
		}
		err := w.create(ctx, withUnknown)
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		Expect(strings.Split(err.Error(), "\n")).To(HaveExactElements(
			HaveSuffix("the upgrade cannot start now:"),
			Equal("spec.order names pool gpu, and Cluster edge has Machines in the pools workers: correct spec.order"),
			Equal("Node/"+w.node("a")+": was cordoned by someone else and is left alone: kubectl uncordon it to let its upgrade start [NodeSchedulable]"),
			Equal("Retry when that is done. Checks, which are in brackets, can be waived by spec.skipPreflight of the templates"),
		))
		w.changeNode(ctx, "a", func(node *corev1.Node) { node.Spec.Unschedulable = false })
		Expect(w.create(ctx)).To(Succeed())
	})

	It("is admitted where clusterctl brings it from another management cluster, before the Machines and whatever is in the way of their nodes", func(ctx SpecContext) {
		w := newOwnedWorld(ctx)
		w.changeNode(ctx, "a", cordon)
		Expect(w.create(ctx)).NotTo(Succeed())
		Expect(w.create(ctx, func(u *infrav1.ElementalClusterUpgrade) {
			u.Annotations = map[string]string{infrav1.CreatedAnnotation: "2026-11-26T12:00:00Z"}
			u.Spec.Order = []infrav1.PoolStage{{Pools: []string{"comes-later"}}}
		})).To(Succeed())
	})

	It("is not checked for nodes that run its OS", func(ctx SpecContext) {
		w := newOwnedWorld(ctx)
		w.changeNode(ctx, "a", cordon)
		Expect(w.create(ctx, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.OSVersion.ImageURI = "oci://registry.test/os:v1" })).To(Succeed())
	})
})
