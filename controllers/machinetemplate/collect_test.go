// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("A template", func() {
	var w *world
	BeforeEach(func() {
		allowInPlaceUpdates()
		w = newWorld()
	})

	It("collects no clone that something names which the cache has not heard of, and looks for it in the clone's Cluster only", func() {
		w.patch(imageB)
		w.reconcile()
		first := w.refersTo()
		apiserver.Change(ctx, c, w.set, func() {
			w.set.Spec.Template.Spec.InfrastructureRef.Name = first
			w.set.Labels[clusterv1.ClusterNameLabel] = w.cluster.Name
		})
		machine := apiserver.Get(ctx, c, ownertest.ElementalMachine(w.namespace, "m", "", ""))
		apiserver.Change(ctx, c, machine, func() {
			machine.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = first
			machine.Labels = map[string]string{clusterv1.ClusterNameLabel: w.cluster.Name}
		})
		other := ownertest.ElementalMachine(w.namespace, "other", first, imageB)
		other.Labels = map[string]string{clusterv1.ClusterNameLabel: "other"}
		plane.Create(ctx, other)
		w.patch(imageC)
		w.atRest()
		w.reconcile()
		second := w.refersTo()
		live := &answers{Reader: c}
		w.reconciler.Client, w.reconciler.Live = unheard{w.reconciler.Client}, live
		exists := func() bool {
			w.reconcile()
			err := c.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: first}, &infrav1.ElementalMachineTemplate{})
			return !apierrors.IsNotFound(err)
		}
		Expect(exists()).To(BeTrue(), "a MachineSet and an ElementalMachine name it")
		Expect(live.objects).To(Equal(2))
		apiserver.Change(ctx, c, w.set, func() { w.set.Spec.Template.Spec.InfrastructureRef.Name = second })
		Expect(exists()).To(BeTrue(), "an ElementalMachine names it")
		apiserver.Change(ctx, c, machine, func() { machine.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = second })
		Expect(exists()).To(BeFalse())
	})
})
