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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("RolledOut of a template", func() {
	var w *world
	BeforeEach(func() {
		w = newWorld()
		w.addOfPool(w.set, "m1", "t", imageA)
		w.reconcile()
	})

	counts := func(upToDate, all int) {
		GinkgoHelper()
		Expect(w.template.Status).To(And(
			HaveField("UpToDateMachines", HaveValue(BeEquivalentTo(upToDate))), HaveField("Machines", HaveValue(BeEquivalentTo(all)))))
	}
	isNot := func(message string) {
		GinkgoHelper()
		w.haveCondition(infrav1.RolledOutCondition, metav1.ConditionFalse, infrav1.MachinesNotUpToDateReason)
		Expect(w.message(infrav1.RolledOutCondition)).To(ContainSubstring(message))
	}
	is := func() {
		GinkgoHelper()
		w.haveCondition(infrav1.RolledOutCondition, metav1.ConditionTrue, infrav1.RolledOutReason)
	}

	It("is True when all Machines run its OS", func() {
		is()
		counts(1, 1)
		Expect(w.template.Status.ImageURI).To(Equal(imageA))

		By("a change")
		w.patch(imageB)
		w.reconcileOnce()
		isNot("0 of 1 Machines run this OS")
		Expect(w.template.Status.ImageURI).To(Equal(imageB))

		By("the attempt, which has given the machine the OS, of which the condition does not speak yet")
		w.reconcile()
		Expect(w.elemental("m1").Spec.OSVersionManagement).To(Equal(osversion.OfImage(imageB)))
		isNot("0 of 1")
		counts(0, 1)

		By("the host that runs it")
		w.succeed(imageB)
		w.reconcile()
		is()
		counts(1, 1)

		By("a host that has fallen back")
		machine := w.elemental("m1")
		before := machine.DeepCopy()
		condition.False(machine, infrav1.OSUpToDateCondition, infrav1.HostRunsOtherOSReason, "")
		Expect(c.Status().Patch(ctx, machine, client.MergeFrom(before))).To(Succeed())
		w.reconcile()
		isNot("0 of 1")
	})

	It("counts the Machines that Cluster API has not brought to it yet, of owners that refer to it", func() {
		next := ownertest.Template(w.namespace, "next", imageB)
		plane.Create(ctx, next)
		apiserver.Change(ctx, c, w.md, func() { w.md.Spec.Template.Spec.InfrastructureRef.Name = "next" })
		w.reconcile()
		counts(1, 1)
		w.template = next
		w.reconcile()
		isNot("0 of 1 Machines run this OS")

		By("Cluster API, which updates the Machine")
		machine := w.elemental("m1")
		apiserver.Change(ctx, c, machine, func() {
			machine.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = "next"
			machine.Spec.OSVersionManagement = osversion.OfImage(imageB)
		})
		w.reconcile()
		isNot("0 of 1")
		w.runs("m1", imageB)
		w.reconcile()
		is()
		counts(1, 1)
	})

	It("costs one look at each Machine of the Cluster, also of those that are others'", func() {
		lists := &apiserver.Counting{Client: w.reconciler.Client}
		w.reconciler.Client = lists
		w.reconcileOnce()
		alone := lists.Listed()
		const others = 5
		Expect(clusterviewtest.AddNodes(ctx, c, w.namespace, "c", others)).To(Succeed())
		w.reconcileOnce()
		Expect(lists.Listed()).To(Equal(alone + others))
	})

	It("is not True for a change that could not be looked at", func() {
		is()
		w.patch(imageB)
		healthy := w.reconciler.Client
		w.reconciler.Client = unreadable{Client: healthy, kind: &infrav1.ElementalRollout{}}
		_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
		Expect(err).To(MatchError(errUnreadable))
		apiserver.Get(ctx, c, w.template)
		w.haveCondition(infrav1.RolledOutCondition, metav1.ConditionUnknown, infrav1.NotObservedReason)
		w.reconciler.Client = healthy
		w.reconcile()
		isNot("0 of 1 Machines run this OS")
	})
})
