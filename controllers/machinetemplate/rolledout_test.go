// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview/clusterviewtest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("RolledOut of a template", func() {
	var (
		w       *world
		machine *infrav1.ElementalMachine
	)
	BeforeEach(func() {
		allowInPlaceUpdates()
		w = newWorld()
		machine = apiserver.Get(ctx, c, ownertest.ElementalMachine(w.namespace, "m", "", ""))
		apiserver.Change(ctx, c, machine, func() {
			machine.Labels = map[string]string{clusterv1.ClusterNameLabel: "c", clusterv1.MachineDeploymentNameLabel: "md"}
		})
	})

	// runs has the machine controller write what the machine runs.
	runs := func(status metav1.ConditionStatus) {
		GinkgoHelper()
		before := apiserver.Get(ctx, c, machine).DeepCopy()
		if status == metav1.ConditionTrue {
			condition.True(machine, infrav1.OSUpToDateCondition)
		} else {
			condition.False(machine, infrav1.OSUpToDateCondition, infrav1.HostRunsOtherOSReason, "")
		}
		Expect(c.Status().Patch(ctx, machine, client.MergeFrom(before))).To(Succeed())
	}
	counts := func(upToDate, all int) {
		GinkgoHelper()
		Expect(w.template.Status).To(And(
			HaveField("UpToDateMachines", HaveValue(BeEquivalentTo(upToDate))), HaveField("Machines", HaveValue(BeEquivalentTo(all)))))
	}
	isNot := func(reason, message string) {
		GinkgoHelper()
		w.haveCondition(infrav1.RolledOutCondition, metav1.ConditionFalse, reason)
		Expect(w.message(infrav1.RolledOutCondition)).To(ContainSubstring(message))
	}

	It("is True when all Machines run its OS", func() {
		w.reconcile()
		isNot(infrav1.MachinesNotUpToDateReason, "0 of 1 Machines run this OS")
		counts(0, 1)
		runs(metav1.ConditionTrue)
		w.reconcile()
		w.haveCondition(infrav1.RolledOutCondition, metav1.ConditionTrue, infrav1.RolledOutReason)
		counts(1, 1)
		Expect(w.template.Status.ImageURI).To(Equal(imageA))

		By("a change that waits for a quiet point")
		apiserver.Change(ctx, c, w.set, func() { w.set.Spec.Replicas = new(int32(0)) })
		w.patch(imageB)
		w.reconcile()
		isNot(infrav1.ReferencesNotUpdatedReason, "MachineSet ms has 1 Machines and is to have 0")
		counts(0, 1)
		Expect(w.template.Status.ImageURI).To(Equal(imageB))

		By("the reference, which is not enough")
		ownertest.Observe(ctx, c, w.set, 0)
		w.reconcile()
		w.reconcile()
		w.haveCondition(infrav1.ReferencesUpdatedCondition, metav1.ConditionTrue, infrav1.ReferencesUpdatedReason)
		isNot(infrav1.MachinesNotUpToDateReason, "0 of 1 Machines run this OS")

		By("Cluster API's change of the machine, of which the condition does not speak yet")
		apiserver.Change(ctx, c, machine, func() {
			machine.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = w.refersTo()
			machine.Spec.OSVersionManagement = ownertest.OS(imageB)
		})
		w.reconcile()
		isNot(infrav1.MachinesNotUpToDateReason, "0 of 1")
		runs(metav1.ConditionFalse)
		w.reconcile()
		isNot(infrav1.MachinesNotUpToDateReason, "0 of 1")

		By("the host that runs it")
		runs(metav1.ConditionTrue)
		w.reconcile()
		w.haveCondition(infrav1.RolledOutCondition, metav1.ConditionTrue, infrav1.RolledOutReason)
		counts(1, 1)

		By("a host that has fallen back")
		runs(metav1.ConditionFalse)
		w.reconcile()
		isNot(infrav1.MachinesNotUpToDateReason, "0 of 1")
	})

	It("costs one look at each Machine of the Cluster, also of those that are others'", func() {
		w.reconcile()
		lists := &apiserver.Counting{Client: w.reconciler.Client}
		w.reconciler.Client = lists
		w.reconcileOnce()
		alone := lists.Listed()
		const others = 5
		Expect(clusterviewtest.AddNodes(ctx, c, w.namespace, "c", others)).To(Succeed())
		w.reconcileOnce()
		Expect(lists.Listed()).To(Equal(alone + others))
	})

	It("is not True for a Machine that runs what its owner's topology would have changed", func() {
		runs(metav1.ConditionTrue)
		apiserver.Change(ctx, c, w.md, func() { w.md.Labels = map[string]string{clusterv1.ClusterTopologyOwnedLabel: ""} })
		w.patch(imageB)
		w.reconcile()
		isNot(infrav1.ReferencesNotUpdatedReason, "belongs to the topology of a Cluster")
		counts(0, 1)
	})

	It("is not said of a clone", func() {
		w.patch(imageB)
		w.reconcile()
		w.template = &w.clones()[0]
		w.reconcile()
		Expect(w.template.Status.Conditions).NotTo(ContainElement(HaveField("Type", infrav1.RolledOutCondition)))
		Expect(w.template.Status.ImageURI).To(Equal(imageB))
	})

	It("is not True for a change that could not be looked at", func() {
		runs(metav1.ConditionTrue)
		w.reconcile()
		w.haveCondition(infrav1.RolledOutCondition, metav1.ConditionTrue, infrav1.RolledOutReason)
		w.patch(imageB)
		healthy := w.reconciler.Client
		w.reconciler.Client = unreadable{Client: healthy, kind: &infrav1.ElementalMachineTemplate{}}
		_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
		Expect(err).To(MatchError(errUnreadable))
		apiserver.Get(ctx, c, w.template)
		w.haveCondition(infrav1.RolledOutCondition, metav1.ConditionUnknown, infrav1.ReferencesNotUpdatedReason)
		w.reconciler.Client = healthy
		w.reconcile()
		w.reconcile()
		isNot(infrav1.MachinesNotUpToDateReason, "0 of 1 Machines run this OS")
	})
})
