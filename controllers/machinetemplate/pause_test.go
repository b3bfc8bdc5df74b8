// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("A MachineDeployment", func() {
	const paused = infrav1.RolloutHoldPrefix + "t"
	var w *world
	BeforeEach(func() {
		allowInPlaceUpdates()
		w = newWorld()
	})

	// pause has the template patched, and the MachineDeployment paused for it.
	pause := func() {
		GinkgoHelper()
		w.patch(imageB)
		w.reconcileOnce()
		Expect(w.md.Annotations).To(HaveKeyWithValue(clusterv1.PausedAnnotation, paused))
		Expect(w.refersTo()).To(Equal("t"))
	}
	released := func() {
		GinkgoHelper()
		Expect(apiserver.Get(ctx, c, w.md).Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation))
		Expect(w.refersTo()).To(Equal("t"))
	}

	It("is pointed to a clone only after Cluster API has said that it leaves it alone, and is unpaused by the same write", func() {
		pause()
		w.reconcileOnce()
		Expect(w.refersTo()).To(Equal("t"), "Cluster API has not answered")
		w.haveCondition(infrav1.ReferencesUpdatedCondition, metav1.ConditionFalse, infrav1.WaitingForQuietPointReason)
		Expect(w.message(infrav1.ReferencesUpdatedCondition)).To(Equal(
			"MachineDeployment md: waiting for it to report Paused=True"))
		Expect(w.answerPauses()).To(BeTrue())
		before := apiserver.Get(ctx, c, w.md).Generation
		w.reconcileOnce()
		Expect(w.refersTo()).NotTo(Equal("t"))
		Expect(w.md.Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation))
		Expect(w.md.Generation).To(Equal(before + 1))
	})

	It("is unpaused again when it was not quiet when Cluster API stopped", func() {
		pause()
		Expect(w.answerPauses()).To(BeTrue())
		apiserver.Change(ctx, c, w.set, func() { w.set.Spec.Replicas = ptr.To[int32](0) })
		w.reconcileOnce()
		released()
		Expect(w.message(infrav1.ReferencesUpdatedCondition)).To(Equal("MachineDeployment md: MachineSet ms has 1 Machines and is to have 0"))
		w.reconcileOnce()
		Expect(w.md.Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation), "it is not paused while that lasts")
	})

	It("is not paused before Cluster API has said that it goes on since the last time", func() {
		ownertest.Observe(ctx, c, w.md, 1)
		apiserver.Change(ctx, c, w.md, func() { w.md.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
		Expect(w.answerPauses()).To(BeTrue())
		apiserver.Change(ctx, c, w.md, func() { delete(w.md.Annotations, clusterv1.PausedAnnotation) })
		w.patch(imageB)
		w.reconcileOnce()
		Expect(w.md.Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation))
		Expect(w.answerPauses()).To(BeTrue())
		w.reconcile()
		Expect(w.refersTo()).NotTo(Equal("t"))
	})

	It("that somebody paused stays so", func() {
		apiserver.Change(ctx, c, w.md, func() { w.md.Annotations = map[string]string{clusterv1.PausedAnnotation: "me"} })
		w.patch(imageB)
		w.reconcile()
		Expect(apiserver.Get(ctx, c, w.md).Annotations).To(HaveKeyWithValue(clusterv1.PausedAnnotation, "me"))
		w.haveCondition(infrav1.ReferencesUpdatedCondition, metav1.ConditionFalse, infrav1.WaitingForClusterReason)

		By("also where somebody pauses it while it is paused for the template")
		apiserver.Change(ctx, c, w.md, func() { delete(w.md.Annotations, clusterv1.PausedAnnotation) })
		w.answerPauses()
		w.reconcileOnce()
		Expect(w.md.Annotations).To(HaveKeyWithValue(clusterv1.PausedAnnotation, paused))
		apiserver.Change(ctx, c, w.md, func() { w.md.Annotations[clusterv1.PausedAnnotation] = "me" })
		w.reconcile()
		Expect(apiserver.Get(ctx, c, w.md).Annotations).To(HaveKeyWithValue(clusterv1.PausedAnnotation, "me"))
		Expect(w.refersTo()).To(Equal("t"))
	})

	DescribeTable("is unpaused when it is not to be pointed elsewhere after all, because", func(change func()) {
		pause()
		change()
		_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
		Expect(err).NotTo(HaveOccurred())
		Expect(apiserver.Get(ctx, c, w.md).Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation))
	},
		Entry("the template was changed back", func() { w.patch(imageA) }),
		Entry("the template was deleted", func() { Expect(c.Delete(ctx, w.template)).To(Succeed()) }),
		Entry("the template was paused", func() {
			apiserver.Change(ctx, c, w.template, func() { w.template.Annotations[clusterv1.PausedAnnotation] = "" })
		}),
		Entry("the template names a ManagedOSVersion that is not there", func() {
			apiserver.Change(ctx, c, w.template, func() {
				w.template.Spec.Template.Spec.OSVersionManagement = infrav1.OSVersionManagement{
					infrav1.OSVersionKey: {Raw: []byte(`{"managedOSVersionName":"gone"}`)},
				}
			})
		}),
		Entry("the template was labelled as a clone", func() {
			apiserver.Change(ctx, c, w.template, func() { w.template.Labels = map[string]string{infrav1.SourceTemplateLabel: "another"} })
		}),
		Entry("its clone was changed", func() {
			clone := &w.clones()[0]
			apiserver.Change(ctx, c, clone, func() { clone.Spec.Template.Spec.OSVersionManagement = ownertest.OS(imageC) })
		}),
		Entry("its Cluster was paused", func() { apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = ptr.To(true) }) }),
		Entry("a precondition is not met any more", func() { installExtension(foreignExtension("rival", nil)) }),
		Entry("it refers to another template", func() {
			apiserver.Change(ctx, c, w.md, func() { w.md.Spec.Template.Spec.InfrastructureRef.Name = "other" })
		}),
		Entry("it refers to another provider's", func() {
			apiserver.Change(ctx, c, w.md, func() { w.md.Spec.Template.Spec.InfrastructureRef.Kind = "OtherMachineTemplate" })
		}),
		Entry("it is being deleted", func() {
			apiserver.Change(ctx, c, w.md, func() { w.md.Finalizers = []string{clusterv1.MachineDeploymentFinalizer} })
			Expect(c.Delete(ctx, w.md)).To(Succeed())
		}),
	)

	DescribeTable("is unpaused when its reference may not be changed: by an error", func(refusal error) {
		pause()
		w.answerPauses()
		w.reconciler.Owners.Client = refuses{Client: c, err: refusal}
		_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
		if apierrors.IsForbidden(refusal) || apierrors.IsInvalid(refusal) {
			Expect(err).NotTo(HaveOccurred(), "it is said in a condition")
		} else {
			Expect(err).To(MatchError(refusal))
		}
		released()
	},
		Entry("that forbids it", apierrors.NewForbidden(schema.GroupResource{}, "md", errors.New("no"))),
		Entry("by which a policy denies it", apierrors.NewInvalid(schema.GroupKind{}, "md", nil)),
		Entry("of another kind", apierrors.NewInternalError(errors.New("no"))),
	)

	DescribeTable("is unpaused when what it waits for cannot be looked at", func(of func() client.Object) {
		pause()
		w.reconciler.Client = unreadable{Client: w.reconciler.Client, kind: of()}
		w.reconciler.Live = unreadable{Client: c, kind: of()}
		_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
		Expect(err).To(MatchError(errUnreadable))
		released()

		By("and is paused again when it can be")
		w.reconciler, _ = newReconciler()
		w.reconcile()
		Expect(w.refersTo()).NotTo(Equal("t"))
	},
		Entry("the clones", func() client.Object { return &infrav1.ElementalMachineTemplate{} }),
		Entry("the Machines", func() client.Object { return &infrav1.ElementalMachine{} }),
		Entry("the preconditions for in-place updates", func() client.Object { return &runtimev1.ExtensionConfig{} }),
	)

	It("that cannot be unpaused is said to be paused, on the template", func() {
		pause()
		w.reconciler.Client = unreadable{Client: w.reconciler.Client, kind: &infrav1.ElementalMachine{}}
		w.reconciler.Owners.Client = unreadable{Client: c, kind: &clusterv1.MachineDeployment{}}
		_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
		Expect(err).To(MatchError(errUnreadable))
		apiserver.Get(ctx, c, w.template)
		w.haveCondition(infrav1.ReferencesUpdatedCondition, metav1.ConditionFalse, infrav1.BlockedReason)
		Expect(w.message(infrav1.ReferencesUpdatedCondition)).To(Equal("MachineDeployments may be paused for this template " +
			"(annotation cluster.x-k8s.io/paused: " + paused + ") and cannot be unpaused: listing MachineDeployments: " + errUnreadable.Error()))
	})

	It("is paused and pointed by another manager where the first was killed in between", func() {
		pause()
		w.reconciler, _ = newReconciler()
		w.reconcile()
		Expect(w.refersTo()).NotTo(Equal("t"))
		Expect(apiserver.Get(ctx, c, w.md).Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation))
	})
})
