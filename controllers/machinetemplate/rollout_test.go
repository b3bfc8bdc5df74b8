// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("A template", func() {
	var w *world
	BeforeEach(func() {
		w = newWorld()
		w.addOfPool(w.set, "m1", "t", imageA)
		w.reconcile()
	})
	current := func() string {
		GinkgoHelper()
		Expect(len(w.template.Status.CurrentRollouts)).To(BeNumerically("<=", 1))
		return strings.Join(w.template.Status.CurrentRollouts, "")
	}
	names := func() []string {
		found := []string{}
		for _, of := range w.rollouts() {
			found = append(found, of.Name)
		}
		return found
	}

	It("that is new is rolled out, without a record of that", func() {
		w.haveCondition(infrav1.RolledOutCondition, metav1.ConditionTrue, infrav1.RolledOutReason)
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionFalse, infrav1.NotBlockedReason)
		Expect(w.template.Annotations).To(BeEmpty())
		Expect(names()).To(BeEmpty())
		Expect(w.attempts()).To(BeEmpty())
	})

	It("that was patched has its content and the options of its Cluster recorded, and no owner is changed", func() {
		version := apiserver.Get(ctx, c, w.md).ResourceVersion
		w.patch(imageB)
		w.reconcile()
		of := w.onlyRollout()
		cluster := apiserver.Get(ctx, c, &infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "c"}})
		Expect(of.Spec).To(Equal(infrav1.ElementalRolloutSpec{
			ClusterName: "c", TemplateName: "t", Revision: 1, OSVersionManagement: osversion.OfImage(imageB), Options: cluster.Spec.NodeUpgradeOption,
		}))
		Expect(of.OwnerReferences).To(ConsistOf(And(HaveField("Kind", "Cluster"), HaveField("UID", w.cluster.UID))))
		Expect(of.Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "c"))
		Expect(w.events.Events).To(Receive(ContainSubstring(infrav1.EventUpgradesRequested)))
		Expect(current()).To(Equal(of.Name))
		Expect(w.elemental("m1").Annotations).To(HaveKeyWithValue(infrav1.RolloutAnnotation, of.Name))
		Expect(apiserver.Get(ctx, c, w.md).ResourceVersion).To(Equal(version))

		By("and nothing is written any more")
		version = w.template.ResourceVersion
		w.reconcile()
		Expect(w.template.ResourceVersion).To(Equal(version))
		Expect(apiserver.Get(ctx, c, of).ResourceVersion).To(Equal(of.ResourceVersion))

		By("until all Machines have it: the record of the last rollout is kept")
		w.succeed(imageB)
		w.reconcile()
		Expect(w.onlyRollout().Spec.Completed).To(BeTrue())
		Expect(current()).To(BeEmpty())
	})

	It("that returns to its former content is rolled out again, under another name", func() {
		seen := sets.New[string]()
		for number, image := range []string{imageB, imageA, imageB} {
			w.patch(image)
			w.reconcile()
			seen.Insert(current())
			Expect(w.rollouts()).To(ContainElement(And(HaveField("Name", current()), HaveField("Spec.Revision", BeEquivalentTo(number+1)))))
		}
		Expect(seen).To(HaveLen(3))
	})

	It("that is patched to a content which it had rolled out has another rollout of it", func() {
		w.patch(imageB)
		w.reconcile()
		first := current()
		w.succeed(imageB)
		w.reconcile()
		late := w.elemental("m1")
		apiserver.Change(ctx, c, late, func() { owner.Note(late, "t", osversion.Hash(osversion.OfImage(imageA)), "") })
		w.reconcile()
		Expect(w.onlyRollout()).To(And(HaveField("Spec.Revision", BeEquivalentTo(2)), Not(HaveField("Name", first))), "a Machine was noted with another")
	})

	It("of several clusters has a rollout to each, with the options of each", func() {
		cluster, elemental := ownertest.Cluster(w.namespace, "d", infrav1.NodeUpgradeOption{MaxConcurrent: 2})
		other := ownertest.Machine(w.set, "d1")
		other.Labels, other.OwnerReferences, other.Spec.ClusterName = map[string]string{clusterv1.ClusterNameLabel: "d"}, nil, "d"
		plane.Create(ctx, cluster, elemental)
		w.addServed(other, "t", imageA)
		w.reconcile()
		w.patch(imageB)
		w.reconcile()
		Expect(w.rollouts()).To(ConsistOf(
			And(HaveField("Name", w.elemental("m1").Annotations[infrav1.RolloutAnnotation]), HaveField("Spec.Options.MaxConcurrent", BeEquivalentTo(7))),
			And(HaveField("Name", w.elemental("d1").Annotations[infrav1.RolloutAnnotation]), HaveField("Spec.Options.MaxConcurrent", BeEquivalentTo(2)))))
	})

	It("has one rollout, although the cache has not heard of it", func() {
		w.reconciler.Client = unheard{w.reconciler.Client}
		w.patch(imageB)
		w.reconcile()
		w.addOfPool(w.set, "m2", "t", imageA)
		late := w.elemental("m2")
		apiserver.Change(ctx, c, late, func() { owner.Note(late, "t", osversion.Hash(osversion.OfImage(imageA)), "") })
		w.reconcile()
		Expect(w.elemental("m2").Annotations).To(HaveKeyWithValue(infrav1.RolloutAnnotation, w.onlyRollout().Name))
	})

	It("completes a rollout without what held it, and its Cluster owns it again that a restore has left without an owner", func() {
		w.patch(imageB)
		w.reconcile()
		of := w.onlyRollout()
		apiserver.Change(ctx, c, of, func() { of.OwnerReferences, of.Spec.HeldBy = nil, "edge" })
		w.reconcile()
		Expect(w.onlyRollout().OwnerReferences).To(ConsistOf(HaveField("UID", w.cluster.UID)))
		w.succeed(imageB)
		w.reconcile()
		Expect(w.onlyRollout().Spec).To(And(HaveField("Completed", true), HaveField("HeldBy", "")))
	})

	It("is not completed while an attempt of its rollout has not ended", func() {
		w.patch(imageB)
		w.reconcile()
		attempt := w.onlyAttempt()
		machine := w.elemental("m1")
		apiserver.Change(ctx, c, machine, func() { owner.Note(machine, "t", osversion.Hash(osversion.OfImage(imageB)), "") })
		w.reconcile()
		Expect(w.onlyRollout().Spec.Completed).To(BeFalse())
		w.end(attempt, infrav1.UpgradeSucceeded)
		w.reconcile()
		Expect(w.onlyRollout().Spec.Completed).To(BeTrue())
	})

	It("is not stopped by an attempt that was made up for another OS", func() {
		w.addOfPool(w.set, "m2", "t", imageA)
		w.reconcile()
		w.patch(imageB)
		w.reconcile()
		w.end(w.attemptOn("m2"), infrav1.UpgradeSuperseded)
		bad := w.attemptOn("m1").DeepCopy()
		bad.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: "made-up"}
		bad.Spec.MachineName, bad.Spec.ElementalMachineName, bad.Spec.HostName = "m2", "m2", "host-m2"
		bad.Spec.OSVersionManagement = osversion.OfImage(imageC)
		plane.Create(ctx, bad)
		w.end(bad, infrav1.UpgradeFailed)
		w.reconcile()
		Expect(w.onlyRollout().Spec.StoppedBy).To(BeEmpty())
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionFalse, infrav1.NotBlockedReason)
	})

	It("that is gone leaves its rollouts to another manager's watch filter", func() {
		w.patch(imageB)
		w.reconcile()
		w.end(w.onlyAttempt(), infrav1.UpgradeSuperseded)
		w.reconciler.WatchFilter = "mine"
		Expect(c.Delete(ctx, w.template.DeepCopy())).To(Succeed())
		_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
		Expect(err).NotTo(HaveOccurred())
		w.onlyRollout()
	})

	It("has a rollout again that was deleted", func() {
		w.patch(imageB)
		w.reconcile()
		of := w.onlyRollout()
		Expect(c.Delete(ctx, of)).To(Succeed())
		w.reconcile()
		Expect(names()).NotTo(Or(BeEmpty(), ContainElement(of.Name)))
		Expect(w.elemental("m1").Annotations).To(HaveKeyWithValue(infrav1.RolloutAnnotation, current()))
	})

	It("deletes former rollouts once their attempts have ended, and all when it is gone itself", func() {
		w.patch(imageB)
		w.reconcile()
		first := current()
		w.patch(imageC)
		w.reconcile()
		second := current()
		Expect(names()).To(ConsistOf(first, second))
		w.end(w.onlyAttempt(), infrav1.UpgradeSuperseded)

		By("but not while their Cluster is paused")
		paused := func(is bool) { apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = &is }) }
		paused(true)
		w.reconcile()
		Expect(names()).To(ConsistOf(first, second))
		paused(false)
		w.reconcile()
		Expect(names()).To(ConsistOf(second))

		By("deleting the template")
		gone := w.template.DeepCopy()
		Expect(c.Delete(ctx, gone)).To(Succeed())
		forget := func() {
			GinkgoHelper()
			_, err := w.reconciler.Reconcile(ctx, requestFor(gone))
			Expect(err).NotTo(HaveOccurred())
		}
		forget()
		Expect(names()).To(ConsistOf(second), "its attempt goes on")
		for _, attempt := range w.attempts() {
			w.end(&attempt, infrav1.UpgradeSuperseded)
		}
		paused(true)
		forget()
		Expect(names()).To(ConsistOf(second), "it is moved, perhaps, before its template is")
		paused(false)
		forget()
		Expect(names()).To(BeEmpty())
	})

	It("is left alone while it is paused, or by another manager's watch filter", func() {
		w.patch(imageB)
		w.reconciler.WatchFilter = "mine"
		w.reconcile()
		w.reconciler.WatchFilter = ""
		apiserver.Change(ctx, c, w.template, func() { annotations.AddAnnotations(w.template, map[string]string{clusterv1.PausedAnnotation: ""}) })
		w.reconcile()
		Expect(w.attempts()).To(BeEmpty())
	})
})
