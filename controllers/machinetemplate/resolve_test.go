// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/managedos"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/elementaloperator"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// managed asks for a ManagedOSVersion.
func managed(name string) infrav1.OSVersionManagement {
	return infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{ManagedOSVersionName: name}}
}

var _ = Describe("A template with a ManagedOSVersion", func() {
	var w *world
	BeforeEach(func() {
		w = newWorld()
		w.addOfPool(w.set, "m1", "t", imageA)
		w.reconcile()
	})

	ask := func(name string) {
		GinkgoHelper()
		apiserver.Change(ctx, c, w.template, func() { w.template.Spec.Template.Spec.OSVersionManagement = managed(name) })
	}
	images := func() []string {
		GinkgoHelper()
		found := []string{}
		for _, of := range w.rollouts() {
			version, err := osversion.Decode(of.Spec.OSVersionManagement)
			Expect(err).NotTo(HaveOccurred())
			found = append(found, version.ImageURI)
		}
		return found
	}

	It("is rolled out with the image that was found, once, for all of its hosts", func() {
		version := elementaloperator.ManagedOSVersion(w.namespace, "v2", "container", imageB)
		plane.Create(ctx, version)
		ask("v2")
		w.reconcile()
		Expect(images()).To(ConsistOf(imageB))
		w.haveCondition(infrav1.OSVersionResolvedCondition, metav1.ConditionTrue, clusterv1.ReadyReason)
		Expect(w.message(infrav1.OSVersionResolvedCondition)).To(Equal("ManagedOSVersion v2 is " + imageB))
		of := w.onlyRollout()
		Expect(w.template.Status.CurrentRollouts).To(ConsistOf(of.Name))
		Expect(of.Spec.OSVersionManagement.OSVersion).To(Equal(
			&infrav1.OSVersion{ManagedOSVersionName: "v2", ResolvedFrom: "v2", ImageURI: imageB}))
		Expect(w.onlyAttempt().Spec.ImageURI).To(Equal(imageB))

		By("staying there when the version is changed under its name")
		Expect(unstructured.SetNestedField(version.Object, imageC, "spec", "metadata", "upgradeImage")).To(Succeed())
		Expect(c.Update(ctx, version)).To(Succeed())
		w.reconcile()
		w.onlyRollout()
		Expect(w.template.Status.CurrentRollouts).To(ConsistOf(of.Name))

		By("until it is told to look again, which is another rollout, under another name")
		w.end(w.onlyAttempt(), infrav1.UpgradeSuperseded)
		apiserver.Change(ctx, c, w.template, func() { delete(w.template.Annotations, infrav1.ResolvedOSVersionAnnotation) })
		w.reconcile()
		Expect(w.template.Status.CurrentRollouts).To(ConsistOf(Not(Equal(of.Name))))
		Expect(images()).To(ConsistOf(imageC))
	})

	DescribeTable("is not rolled out before the version is known",
		func(prepare func(), reason string) {
			prepare()
			ask("v2")
			Expect(w.reconcile().RequeueAfter).To(Equal(managedos.Retry))
			w.haveCondition(infrav1.OSVersionResolvedCondition, metav1.ConditionFalse, reason)
			w.haveCondition(infrav1.RolledOutCondition, metav1.ConditionFalse, infrav1.BlockedReason)
			Expect(w.rollouts()).To(BeEmpty())
			Expect(w.attempts()).To(BeEmpty())
			Expect(w.events.Events).To(Receive(ContainSubstring("ManagedOSVersion v2")))
			w.reconcile()
			Expect(w.events.Events).NotTo(Receive(ContainSubstring("ManagedOSVersion v2")), "it is told once")
		},
		Entry("when it does not exist", func() {}, infrav1.ManagedOSVersionNotFoundReason),
		Entry("when it is an ISO", func() { plane.Create(ctx, elementaloperator.ManagedOSVersion(w.namespace, "v2", "iso", imageB)) },
			infrav1.ManagedOSVersionNotContainerReason),
	)

	It("is not rolled out while it cannot be read, as version 0.7 may have stored it", func() {
		plane.WithFormerSchema(ctx, "ElementalMachineTemplate", func() {
			apiserver.Change(ctx, c, w.template, func() {
				w.template.Spec.Template.Spec.OSVersionManagement = specs.OS(`{"imageUri":"` + imageB + `","debug":"yes"}`)
			})
		})
		w.reconcile()
		w.haveCondition(infrav1.OSVersionResolvedCondition, metav1.ConditionFalse, infrav1.InvalidOSVersionReason)
		Expect(w.message(infrav1.OSVersionResolvedCondition)).To(Equal(
			"spec.template.spec.osVersionManagement.osVersion.debug is of JSON type string, and has to be a bool: correct it"))
		Expect(w.rollouts()).To(BeEmpty())
		apiserver.Change(ctx, c, w.template, func() { w.template.Spec.Template.Spec.OSVersionManagement = osversion.OfImage(imageB) })
		w.reconcile()
		Expect(w.template.Status.Conditions).NotTo(ContainElement(HaveField("Type", infrav1.OSVersionResolvedCondition)))
		Expect(images()).To(ConsistOf(imageB))
	})

	It("is rolled out when the version comes later", func() {
		ask("v2")
		w.reconcile()
		Expect(w.rollouts()).To(BeEmpty())
		plane.Create(ctx, elementaloperator.ManagedOSVersion(w.namespace, "v2", "container", imageB))
		w.reconcile()
		Expect(images()).To(ConsistOf(imageB))
	})

	It("that is new is no rollout, whether the version is known or not", func() {
		fresh := &infrav1.ElementalMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "fresh"}}
		fresh.Spec.Template.Spec.OSVersionManagement = managed("v3")
		plane.Create(ctx, fresh)
		_, err := w.reconciler.Reconcile(ctx, requestFor(fresh))
		Expect(err).NotTo(HaveOccurred())
		Expect(apiserver.Get(ctx, c, fresh).Annotations).To(BeEmpty())
		plane.Create(ctx, elementaloperator.ManagedOSVersion(w.namespace, "v3", "container", imageC))
		for range 2 {
			_, err = w.reconciler.Reconcile(ctx, requestFor(fresh))
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(osversion.Unresolved(osversion.OfTemplate(apiserver.Get(ctx, c, fresh)))).To(BeEmpty())
		Expect(w.rollouts()).To(BeEmpty())
	})
})
