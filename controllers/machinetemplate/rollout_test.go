// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("A template", func() {
	var w *world
	BeforeEach(func() {
		w = newWorld()
		w.addOfPool(w.set, "m1", "t", imageA)
		w.reconcile()
	})
	current := func() string { return w.template.Status.CurrentClone }
	exists := func(name string) bool {
		err := c.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, &infrav1.ElementalMachineTemplate{})
		return !apierrors.IsNotFound(err)
	}

	It("that is new is rolled out, with the options of that recorded", func() {
		Expect(w.template.Annotations).To(Equal(map[string]string{
			infrav1.RolloutOptionsAnnotation: w.template.Annotations[infrav1.RolloutOptionsAnnotation],
		}))
		Expect(w.template.Annotations[infrav1.RolloutOptionsAnnotation]).To(ContainSubstring(`"maxConcurrent":7`))
		w.haveCondition(infrav1.RolledOutCondition, metav1.ConditionTrue, infrav1.RolledOutReason)
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionFalse, infrav1.NotBlockedReason)
		Expect(w.attempts()).To(BeEmpty())
	})

	It("forgets the options once no owner refers to it", func() {
		apiserver.Change(ctx, c, w.md, func() { w.md.Spec.Template.Spec.InfrastructureRef.Name = "other" })
		w.reconcile()
		Expect(w.template.Annotations).NotTo(HaveKey(infrav1.RolloutOptionsAnnotation))
	})

	It("that was patched has its content and its options recorded in a clone, which no owner is pointed to", func() {
		version := apiserver.Get(ctx, c, w.md).ResourceVersion
		w.patch(imageB)
		w.reconcile()
		Expect(w.clones()).To(HaveLen(1))
		clone := w.clones()[0]
		hash, err := rollout.ContentHash(w.template)
		Expect(err).NotTo(HaveOccurred())
		Expect(rollout.ContentHash(&clone)).To(Equal(hash))
		Expect(clone.Labels).To(And(HaveKeyWithValue(infrav1.SourceTemplateLabel, "t"), HaveKeyWithValue(clusterv1.ClusterNameLabel, "c")))
		Expect(clone.Annotations).To(And(
			HaveKeyWithValue(infrav1.RolledOutHashAnnotation, hash), HaveKeyWithValue(infrav1.RolloutOptionsAnnotation, ContainSubstring(`"maxConcurrent":7`))))
		Expect(clone.OwnerReferences).To(ConsistOf(And(HaveField("Kind", "Cluster"), HaveField("UID", w.cluster.UID))))
		Expect(w.events.Events).To(Receive(ContainSubstring(infrav1.EventUpgradeStarted)))
		Expect(current()).To(Equal(clone.Name))
		Expect(apiserver.Get(ctx, c, w.md).ResourceVersion).To(Equal(version))

		By("and nothing is written any more")
		version = w.template.ResourceVersion
		w.reconcile()
		Expect(w.template.ResourceVersion).To(Equal(version))
	})

	It("that returns to its former content is rolled out again, under another name", func() {
		names := map[string]bool{}
		for _, image := range []string{imageB, imageA, imageB} {
			w.patch(image)
			w.reconcile()
			names[current()] = true
		}
		Expect(names).To(HaveLen(3))
	})

	It("of several clusters has a clone for each, with the options of each", func() {
		cluster, elemental := ownertest.Cluster(w.namespace, "d", infrav1.NodeUpgradeOption{MaxConcurrent: 2})
		other := ownertest.Machine(w.set, "d1")
		other.Labels, other.OwnerReferences, other.Spec.ClusterName = map[string]string{clusterv1.ClusterNameLabel: "d"}, nil, "d"
		plane.Create(ctx, cluster, elemental)
		w.addServed(other, "t", imageA)
		w.reconcile()
		w.patch(imageB)
		w.reconcile()
		Expect(w.clones()).To(HaveLen(2))
		clone := &infrav1.ElementalMachineTemplate{}
		name := w.elemental("d1").Annotations[infrav1.DirectTemplateAnnotation]
		Expect(name).NotTo(Equal(w.elemental("m1").Annotations[infrav1.DirectTemplateAnnotation]))
		Expect(c.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, clone)).To(Succeed())
		Expect(clone.Annotations).To(HaveKeyWithValue(infrav1.RolloutOptionsAnnotation, ContainSubstring(`"maxConcurrent":2`)))
	})

	It("does not use a clone that was changed", func() {
		w.patch(imageB)
		name := rollout.CloneName(rollout.Content{Template: "t", UID: w.template.UID, Generation: w.template.Generation}, "c")
		plane.Create(ctx, ownertest.Template(w.namespace, name, imageC))
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.BlockedReason)
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(ContainSubstring(name))
		Expect(w.attempts()).To(BeEmpty())
	})

	It("says of a clone that it is not the place to change anything", func() {
		w.patch(imageB)
		w.reconcile()
		clone := &w.clones()[0]
		apiserver.Change(ctx, c, clone, func() { clone.Spec.Template.Spec.OSVersionManagement = ownertest.OS(imageC) })
		w.template = clone
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.CloneChangedReason)
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(ContainSubstring("clone of ElementalMachineTemplate t"))
	})

	It("collects clones that nothing names", func() {
		w.patch(imageB)
		w.reconcile()
		first := current()
		apiserver.Change(ctx, c, w.set, func() { w.set.Spec.Template.Spec.InfrastructureRef.Name = first })
		w.patch(imageC)
		w.reconcile()
		second := current()
		Expect(second).NotTo(Equal(first))
		Expect(exists(first)).To(BeTrue(), "a MachineSet names it")
		Expect(w.reconcile().RequeueAfter).NotTo(BeZero(), "nothing wakes the template when the last one goes that names a clone")
		paused := func(is bool) { apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = &is }) }
		paused(true)
		apiserver.Change(ctx, c, w.set, func() { w.set.Spec.Template.Spec.InfrastructureRef.Name = "t" })
		kcp := ownertest.KubeadmControlPlane(w.namespace, "cp", "c", first)
		plane.Create(ctx, kcp)
		w.reconcile()
		Expect(exists(first)).To(BeTrue(), "what names it may be on its way from another management cluster")
		paused(false)
		w.reconcile()
		Expect(exists(first)).To(BeTrue(), "a control plane refers to it")
		Expect(c.Delete(ctx, kcp)).To(Succeed())
		w.reconcile()
		Expect(exists(first)).To(BeFalse())
		Expect(exists(second)).To(BeTrue(), "a Machine is brought to it")
	})

	It("collects no clone that a Machine is brought to which the cache has not heard of", func() {
		w.patch(imageB)
		w.reconcile()
		first := current()
		live := &answers{Reader: c}
		w.reconciler.Client, w.reconciler.Live = unheard{w.reconciler.Client}, live
		w.reconcile()
		Expect(exists(first)).To(BeTrue())
		Expect(live.objects).To(BeNumerically(">", 0))
		Expect(c.Delete(ctx, w.elemental("m1"))).To(Succeed())
		w.reconcile()
		Expect(exists(first)).To(BeFalse())
	})

	It("is left alone while it is paused, or by another manager's watch filter", func() {
		w.patch(imageB)
		w.reconciler.WatchFilter = "mine"
		w.reconcile()
		w.reconciler.WatchFilter = ""
		apiserver.Change(ctx, c, w.template, func() { w.template.Annotations[clusterv1.PausedAnnotation] = "" })
		w.reconcile()
		Expect(w.attempts()).To(BeEmpty())
	})
})
