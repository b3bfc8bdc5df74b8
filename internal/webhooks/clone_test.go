// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

var _ = Describe("A clone of an ElementalMachineTemplate", func() {
	const (
		mark      = "infrastructure.cluster.x-k8s.io/elemental-source-template"
		elsewhere = "spec: Forbidden: this is a clone of ElementalMachineTemplate workers, which a rollout has made: edit ElementalMachineTemplate workers instead"
	)
	template := func() *infrav1.ElementalMachineTemplate {
		made := &infrav1.ElementalMachineTemplate{ObjectMeta: meta("t-")}
		made.Spec.Template.Spec.OSVersionManagement = image("oci://os:v1")
		return made
	}
	// clone is what a rollout has made.
	clone := func(ctx SpecContext) *infrav1.ElementalMachineTemplate {
		GinkgoHelper()
		made := template()
		made.Labels = map[string]string{infrav1.SourceTemplateLabel: "workers", clusterv1.ClusterNameLabel: "c"}
		hash, err := rollout.ContentHash(made)
		Expect(err).NotTo(HaveOccurred())
		made.Annotations = map[string]string{infrav1.SourceTemplateLabel: "workers", infrav1.RolledOutHashAnnotation: hash}
		Expect(person.Create(ctx, made)).To(Succeed())
		return made
	}

	DescribeTable("is changed", func(ctx SpecContext, change func(*infrav1.ElementalMachineTemplate), refusal string) {
		made := clone(ctx)
		change(made)
		expect(person.Update(ctx, made), refusal)
		if refusal == "" {
			return
		}
		stored := &infrav1.ElementalMachineTemplate{}
		Expect(person.Get(ctx, client.ObjectKeyFromObject(made), stored)).To(Succeed())
		change(stored)
		expect(server.Client.Update(ctx, stored), refusal) // whoever asks
	},
		Entry("not in its OS", func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.Spec.OSVersionManagement = image("oci://os:v2")
		}, elsewhere),
		Entry("not to no OS", func(t *infrav1.ElementalMachineTemplate) { t.Spec.Template.Spec.OSVersionManagement = nil }, elsewhere),
		Entry("not in the metadata of its machines", func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.ObjectMeta.Labels = map[string]string{"a": "b"}
		}, elsewhere),
		Entry("not in its waivers, as those of its source apply", func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.SkipPreflight = []infrav1.PreflightCheck{"OtherNodes"}
		}, elsewhere),
		Entry("not by taking its mark", func(t *infrav1.ElementalMachineTemplate) { delete(t.Labels, infrav1.SourceTemplateLabel) },
			"metadata.labels["+mark+"]: Forbidden: it marks the clones that rollouts make, and is immutable"),
		Entry("not by taking its mark and its OS at once", func(t *infrav1.ElementalMachineTemplate) {
			t.Labels = nil
			t.Spec.Template.Spec.OSVersionManagement = image("oci://os:v2")
		}, elsewhere),
		Entry("not to a clone of another template", func(t *infrav1.ElementalMachineTemplate) { t.Labels[infrav1.SourceTemplateLabel] = "others" },
			"metadata.labels["+mark+"]: Forbidden: "),
		Entry("not in the name of its source", func(t *infrav1.ElementalMachineTemplate) { delete(t.Annotations, infrav1.SourceTemplateLabel) },
			"metadata.annotations["+mark+"]: Forbidden: "),
		Entry("to be deleted, as clusterctl moves it", func(t *infrav1.ElementalMachineTemplate) {
			t.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""}
		}, ""),
		Entry("not in its OS while it is moved", func(t *infrav1.ElementalMachineTemplate) {
			t.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""}
			t.Spec.Template.Spec.OSVersionManagement = image("oci://os:v2")
		}, elsewhere),
		Entry("in other metadata, as the upgrade controller and Cluster API do", func(t *infrav1.ElementalMachineTemplate) {
			t.Annotations[infrav1.RolloutDigestAnnotation] = "{}"
			t.Labels["cluster.x-k8s.io/other"] = ""
			t.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Name: "c", UID: "1"}}
		}, ""),
	)

	It("is changed by Cluster API's dry run alone, after which a topology that has adopted it has another template", func(ctx SpecContext) {
		made := clone(ctx)
		made.Annotations[clusterv1.TopologyDryRunAnnotation] = ""
		made.Spec.Template.Spec.OSVersionManagement = image("oci://os:v2")
		Expect(person.Update(ctx, made.DeepCopy(), client.DryRunAll)).To(Succeed())
		expect(person.Update(ctx, made), elsewhere)
		delete(made.Annotations, clusterv1.TopologyDryRunAnnotation)
		expect(person.Update(ctx, made, client.DryRunAll), elsewhere)
	})

	It("reports its state, and is deleted", func(ctx SpecContext) {
		made := clone(ctx)
		made.Status.ImageURI = "oci://os:v1"
		Expect(person.Status().Update(ctx, made)).To(Succeed())
		Expect(person.Delete(ctx, made)).To(Succeed())
	})

	It("is made of no template that exists, which would not be rolled out any more", func(ctx SpecContext) {
		made := template()
		Expect(person.Create(ctx, made)).To(Succeed())
		made.Labels = map[string]string{infrav1.SourceTemplateLabel: "workers"}
		expect(person.Update(ctx, made), "metadata.labels["+mark+"]: Forbidden: ")
	})

	It("is warned of, where it is created with another spec than was cloned", func(ctx SpecContext) {
		copied := clone(ctx)
		person.Warnings = nil
		copied.ObjectMeta = metav1.ObjectMeta{
			GenerateName: "t-", Namespace: copied.Namespace, Labels: copied.Labels, Annotations: copied.Annotations,
		}
		copied.Spec.Template.Spec.OSVersionManagement = image("oci://os:v2")
		Expect(person.Create(ctx, copied)).To(Succeed())
		Expect(person.Warnings).To(ContainElement(ContainSubstring(
			"label " + mark + " marks this as a clone of ElementalMachineTemplate workers, and its spec is not what was cloned: it is not rolled out")))
	})
})
