// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
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
		allowInPlaceUpdates()
		w = newWorld()
	})

	hashOf := func(template *infrav1.ElementalMachineTemplate) string {
		GinkgoHelper()
		hash, err := rollout.ContentHash(template)
		Expect(err).NotTo(HaveOccurred())
		return hash
	}

	It("that is new counts as rolled out, with the options of its rollout recorded", func() {
		Expect(w.template.Annotations).To(And(
			HaveKeyWithValue(infrav1.RolledOutHashAnnotation, hashOf(w.template)),
			HaveKeyWithValue(infrav1.RolloutOptionsAnnotation, ContainSubstring(`"maxConcurrent":7`))))
		w.haveCondition(infrav1.ReferencesUpdatedCondition, metav1.ConditionTrue, infrav1.ReferencesUpdatedReason)
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionFalse, infrav1.NotBlockedReason)
		Expect(w.refersTo()).To(Equal("t"))
	})

	It("that was patched is rolled out by a clone", func() {
		w.patch(imageB)
		w.reconcile()
		clones := w.clones()
		Expect(clones).To(HaveLen(1))
		clone := clones[0]
		Expect(w.refersTo()).To(Equal(clone.Name))
		Expect(w.md.Annotations).To(HaveKeyWithValue(infrav1.RolloutCloneAnnotation, clone.Name))
		Expect(hashOf(&clone)).To(Equal(hashOf(w.template)))
		Expect(clone.Labels).To(And(HaveKeyWithValue(infrav1.SourceTemplateLabel, "t"), HaveKeyWithValue(clusterv1.ClusterNameLabel, "c")))
		Expect(clone.Annotations).To(HaveKeyWithValue(infrav1.RolloutOptionsAnnotation, ContainSubstring(`"maxConcurrent":7`)))
		Expect(clone.OwnerReferences).To(ConsistOf(And(HaveField("Kind", "Cluster"), HaveField("UID", w.cluster.UID))))
		Expect(w.events.Events).To(Receive(ContainSubstring(infrav1.EventRolloutStarted)))

		w.reconcile()
		w.haveCondition(infrav1.ReferencesUpdatedCondition, metav1.ConditionTrue, infrav1.ReferencesUpdatedReason)
		Expect(w.template.Status.CurrentClone).To(Equal(clone.Name))
		Expect(w.template.Annotations).To(HaveKeyWithValue(infrav1.RolledOutHashAnnotation, hashOf(w.template)))
		Expect(w.template.Annotations).NotTo(HaveKey(infrav1.RolloutOptionsAnnotation), "no owner refers to it by its own name")

		By("and nothing is written any more")
		version := w.template.ResourceVersion
		w.reconcile()
		Expect(w.template.ResourceVersion).To(Equal(version))
	})

	It("that may not be rolled out says who refused it, and why", func() {
		config := rest.CopyConfig(plane.Config)
		config.Impersonate = rest.ImpersonationConfig{UserName: "stranger"}
		stranger, err := client.New(config, client.Options{Scheme: plane.Scheme})
		Expect(err).NotTo(HaveOccurred())
		w.reconciler.Owners.Client = writesBy{Client: c, writer: stranger}
		w.patch(imageB)
		w.reconcile()
		w.haveCondition(infrav1.ReferencesUpdatedCondition, metav1.ConditionFalse, infrav1.ChangeRefusedReason)
		Expect(w.message(infrav1.ReferencesUpdatedCondition)).To(HavePrefix(`MachineDeployment md: the change was refused: ` +
			`machinedeployments.cluster.x-k8s.io "md" is forbidden: User "stranger" cannot patch resource "machinedeployments"`))
		Expect(w.refersTo()).To(Equal("t"))
		version := w.template.ResourceVersion
		w.reconcile()
		Expect(w.template.ResourceVersion).To(Equal(version))
	})

	It("that returns to its former content is rolled out again, under another name", func() {
		names := map[string]bool{}
		for _, image := range []string{imageB, imageA, imageB} {
			w.patch(image)
			w.atRest()
			w.reconcile()
			names[w.refersTo()] = true
		}
		Expect(names).To(HaveLen(3))
	})

	It("that returns to its former content before all owners were pointed brings the others back", func() {
		other := ownertest.MachineDeployment(w.namespace, "other", "c", "t", 1)
		other.Spec.Paused = ptr.To(true)
		plane.Create(ctx, other)
		apiserver.Change(ctx, c, other, func() { other.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
		w.patch(imageB)
		w.reconcile()
		Expect(w.refersTo()).NotTo(Equal("t"))
		Expect(apiserver.Get(ctx, c, other).Spec.Template.Spec.InfrastructureRef.Name).To(Equal("t"))
		w.haveCondition(infrav1.ReferencesUpdatedCondition, metav1.ConditionFalse, infrav1.WaitingForClusterReason)
		bad := w.refersTo()

		w.patch(imageA)
		w.atRest()
		w.reconcile()
		Expect(w.refersTo()).NotTo(BeElementOf("t", bad))
		Expect(apiserver.Get(ctx, c, other).Spec.Template.Spec.InfrastructureRef.Name).To(Equal("t"))
	})

	It("waits for a quiet point", func() {
		apiserver.Change(ctx, c, w.set, func() { w.set.Spec.Replicas = ptr.To[int32](0) })
		w.patch(imageB)
		Expect(w.reconcile().RequeueAfter).To(BeNumerically("<=", 5*time.Second))
		Expect(w.refersTo()).To(Equal("t"))
		w.haveCondition(infrav1.ReferencesUpdatedCondition, metav1.ConditionFalse, infrav1.WaitingForQuietPointReason)
		Expect(w.message(infrav1.ReferencesUpdatedCondition)).To(Equal("MachineDeployment md: MachineSet ms has 1 Machines and is to have 0"))
		ownertest.Observe(ctx, c, w.set, 0)
		w.reconcile()
		Expect(w.refersTo()).NotTo(Equal("t"))
	})

	It("waits for a paused Cluster", func() {
		apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = ptr.To(true) })
		w.patch(imageB)
		w.reconcile()
		Expect(w.refersTo()).To(Equal("t"))
		w.haveCondition(infrav1.ReferencesUpdatedCondition, metav1.ConditionFalse, infrav1.WaitingForClusterReason)
		apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = ptr.To(false) })
		w.reconcile()
		Expect(w.refersTo()).NotTo(Equal("t"))
	})

	It("that arrives in a paused Cluster before its Machines is not taken for rolled out", func() {
		w.patch(imageB)
		machine := apiserver.Get(ctx, c, ownertest.ElementalMachine(w.namespace, "m", "", ""))
		Expect(c.Delete(ctx, machine)).To(Succeed())
		apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = ptr.To(true) })
		w.reconcile()
		plane.Create(ctx, ownertest.ElementalMachine(w.namespace, "m", "t", imageA))
		apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = ptr.To(false) })
		w.reconcile()
		Expect(w.refersTo()).NotTo(Equal("t"))
	})

	It("that arrives before its owners is not taken for rolled out", func() {
		w.patch(imageB)
		Expect(c.Delete(ctx, w.md)).To(Succeed())
		_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
		Expect(err).NotTo(HaveOccurred())
		w.md = ownertest.MachineDeployment(w.namespace, "md", "c", "t", 1)
		plane.Create(ctx, w.md)
		ownertest.Observe(ctx, c, w.md, 1)
		w.reconcile()
		Expect(w.refersTo()).NotTo(Equal("t"))
	})

	It("that was patched before it made a Machine has nothing to roll out", func() {
		fresh := ownertest.Template(w.namespace, "fresh", imageA)
		plane.Create(ctx, fresh)
		apiserver.Change(ctx, c, fresh, func() { fresh.Spec.Template.Spec.OSVersionManagement = ownertest.OS(imageB) })
		plane.Create(ctx, ownertest.MachineDeployment(w.namespace, "later", "c", "fresh", 1))
		_, err := w.reconciler.Reconcile(ctx, requestFor(fresh))
		Expect(err).NotTo(HaveOccurred())
		Expect(apiserver.Get(ctx, c, fresh).Annotations).To(HaveKeyWithValue(infrav1.RolledOutHashAnnotation, hashOf(fresh)))
		Expect(w.clones()).To(BeEmpty())
	})

	It("survives a restart between the clone and the reference", func() {
		w.patch(imageB)
		w.reconciler.Owners.Client = crashing{c}
		_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
		Expect(err).To(MatchError(context.Canceled))
		Expect(w.clones()).To(HaveLen(1))
		Expect(w.refersTo()).To(Equal("t"))
		w.reconciler, _ = newReconciler()
		w.reconcile()
		Expect(w.clones()).To(HaveLen(1))
		Expect(w.refersTo()).To(Equal(w.clones()[0].Name))
	})

	It("does not use a clone that somebody changed", func() {
		w.patch(imageB)
		name := rollout.CloneName(rollout.Content{Template: "t", UID: w.template.UID, Generation: w.template.Generation}, "c")
		plane.Create(ctx, ownertest.Template(w.namespace, name, imageC))
		w.reconcile()
		Expect(w.refersTo()).To(Equal("t"))
		Expect(w.message(infrav1.ReferencesUpdatedCondition)).To(ContainSubstring(name))
	})

	It("says of a clone that it is not the place to change anything", func() {
		w.patch(imageB)
		w.reconcile()
		clone := &w.clones()[0]
		apiserver.Change(ctx, c, clone, func() { clone.Spec.Template.Spec.OSVersionManagement = ownertest.OS(imageC) })
		source := w.template
		w.template = clone
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.CloneChangedReason)
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(ContainSubstring("clone of ElementalMachineTemplate t"))
		w.template = source
	})

	It("is not written to an owner twice when somebody turns it back", func() {
		w.patch(imageB)
		w.reconcile()
		apiserver.Change(ctx, c, w.md, func() { w.md.Spec.Template.Spec.InfrastructureRef.Name = "t" })
		w.atRest()
		version := apiserver.Get(ctx, c, w.md).ResourceVersion
		for range 2 {
			w.reconcile()
		}
		Expect(w.md.ResourceVersion).To(Equal(version))
		w.haveCondition(infrav1.ReferenceRevertedCondition, metav1.ConditionTrue, infrav1.RevertedByOtherReason)
		Expect(w.message(infrav1.ReferenceRevertedCondition)).To(ContainSubstring("MachineDeployment md was reverted"))
		Expect(w.events.Events).To(HaveLen(2), "the start of the rollout, and one about the return")

		By("but the next change is written again")
		w.patch(imageC)
		w.reconcile()
		Expect(w.refersTo()).NotTo(Equal("t"))
		w.reconcile()
		w.haveCondition(infrav1.ReferenceRevertedCondition, metav1.ConditionFalse, infrav1.NotRevertedReason)
	})

	It("says what came in the way of a rollout that is under way, and changes no reference for it", func() {
		machine := apiserver.Get(ctx, c, ownertest.ElementalMachine(w.namespace, "m", "", ""))
		apiserver.Change(ctx, c, machine, func() {
			machine.Labels = map[string]string{clusterv1.ClusterNameLabel: w.md.Spec.ClusterName, clusterv1.MachineDeploymentNameLabel: "md"}
		})
		w.patch(imageB)
		w.reconcile()
		Expect(w.reconcile().RequeueAfter).To(BeNumerically(">", 0), "it is looked at again")
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionFalse, infrav1.NotBlockedReason)
		version := w.md.ResourceVersion

		rival := foreignExtension("rival", nil)
		installExtension(rival)
		Expect(w.reconcile().RequeueAfter).To(BeNumerically(">", 0))
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.CompetingExtensionReason)
		w.haveCondition(infrav1.ReferencesUpdatedCondition, metav1.ConditionTrue, infrav1.ReferencesUpdatedReason)
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(ContainSubstring("ExtensionConfig rival"))

		By("its going away")
		Expect(c.Delete(ctx, rival)).To(Succeed())
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionFalse, infrav1.NotBlockedReason)

		By("the last update, which goes on although the Machine is made from the clone by then")
		apiserver.Change(ctx, c, machine, func() {
			machine.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = w.refersTo()
			machine.Annotations[clusterv1.UpdateInProgressAnnotation] = ""
		})
		Expect(w.reconcile().RequeueAfter).To(BeNumerically(">", 0))
		apiserver.Change(ctx, c, machine, func() { delete(machine.Annotations, clusterv1.UpdateInProgressAnnotation) })
		Expect(w.reconcile().RequeueAfter).To(BeZero(), "the rollout has come to its end")
		Expect(w.md.ResourceVersion).To(Equal(version))
	})

	It("leaves owners alone that belong to a topology", func() {
		apiserver.Change(ctx, c, w.md, func() { w.md.Labels = map[string]string{clusterv1.ClusterTopologyOwnedLabel: ""} })
		w.patch(imageB)
		w.reconcile()
		Expect(w.refersTo()).To(Equal("t"))
		w.haveCondition(infrav1.ReferencesUpdatedCondition, metav1.ConditionFalse, infrav1.ManagedByTopologyReason)
		Expect(w.clones()).To(BeEmpty())
	})

	It("is not written to by us where it belongs to a topology, which would turn it back", func() {
		// The topology controller copies the annotations of the class's template, and patches the content.
		copied := ownertest.Template(w.namespace, "copied", imageB)
		copied.Labels = map[string]string{clusterv1.ClusterTopologyOwnedLabel: ""}
		copied.Annotations = map[string]string{infrav1.RolledOutHashAnnotation: w.template.Annotations[infrav1.RolledOutHashAnnotation]}
		owned := ownertest.MachineDeployment(w.namespace, "owned", "c", "copied", 1)
		owned.Labels = copied.Labels
		plane.Create(ctx, copied, owned, ownertest.ElementalMachine(w.namespace, "of-copied", "copied", imageB))
		w.template = copied
		for range 2 {
			w.reconcile()
		}
		Expect(copied.Annotations).To(HaveKeyWithValue(infrav1.RolledOutHashAnnotation, Not(BeElementOf("", w.hash()))))
		w.haveCondition(infrav1.ReferencesUpdatedCondition, metav1.ConditionTrue, infrav1.ReferencesUpdatedReason)
	})

	It("of several clusters has a clone for each, with the options of each", func() {
		cluster, elemental := ownertest.Cluster(w.namespace, "d", infrav1.NodeUpgradeOption{MaxConcurrent: 2})
		other := ownertest.MachineDeployment(w.namespace, "other", "d", "t", 1)
		plane.Create(ctx, cluster, elemental, other)
		ownertest.Observe(ctx, c, other, 1)
		w.patch(imageB)
		w.reconcile()
		name := apiserver.Get(ctx, c, other).Spec.Template.Spec.InfrastructureRef.Name
		Expect(name).NotTo(BeElementOf("t", w.refersTo()))
		clone := &infrav1.ElementalMachineTemplate{}
		Expect(c.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, clone)).To(Succeed())
		Expect(clone.Annotations).To(HaveKeyWithValue(infrav1.RolloutOptionsAnnotation, ContainSubstring(`"maxConcurrent":2`)))
	})

	It("collects clones that nothing names", func() {
		w.patch(imageB)
		w.reconcile()
		first := w.refersTo()
		machine := apiserver.Get(ctx, c, ownertest.ElementalMachine(w.namespace, "m", "", ""))
		apiserver.Change(ctx, c, machine, func() { machine.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = first })
		apiserver.Change(ctx, c, w.set, func() { w.set.Spec.Template.Spec.InfrastructureRef.Name = first })
		w.patch(imageC)
		w.atRest()
		w.reconcile()
		second := w.refersTo()
		Expect(second).NotTo(Equal(first))
		exists := func(name string) bool {
			err := c.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, &infrav1.ElementalMachineTemplate{})
			return !apierrors.IsNotFound(err)
		}
		w.reconcile()
		Expect(exists(first)).To(BeTrue(), "a MachineSet and an ElementalMachine name it")
		name := func(machineName, setName string) {
			apiserver.Change(ctx, c, machine, func() { machine.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = machineName })
			apiserver.Change(ctx, c, w.set, func() { w.set.Spec.Template.Spec.InfrastructureRef.Name = setName })
			w.reconcile()
		}
		name(second, first)
		Expect(exists(first)).To(BeTrue(), "a MachineSet names it")
		name(first, second)
		Expect(exists(first)).To(BeTrue(), "an ElementalMachine names it")
		Expect(w.reconcile().RequeueAfter).NotTo(BeZero(), "nothing wakes the template when the last one goes that names a clone")
		paused := func(is bool) { apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = &is }) }
		paused(true)
		name(second, second)
		Expect(exists(first)).To(BeTrue(), "what names it may be on its way from another management cluster")
		Expect(w.reconcile().RequeueAfter).NotTo(BeZero())
		paused(false)
		w.reconcile()
		Expect(exists(first)).To(BeFalse())
		Expect(exists(second)).To(BeTrue())
		Expect(w.reconcile().RequeueAfter).To(BeZero())
	})

	It("is left alone while it is paused, or by another manager's watch filter", func() {
		w.patch(imageB)
		w.reconciler.WatchFilter = "mine"
		w.reconcile()
		w.reconciler.WatchFilter = ""
		apiserver.Change(ctx, c, w.template, func() { w.template.Annotations[clusterv1.PausedAnnotation] = "" })
		w.reconcile()
		Expect(w.refersTo()).To(Equal("t"))
	})
})
