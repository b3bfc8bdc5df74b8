// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

var _ = Describe("A waiver of a preflight check", func() {
	DescribeTable("is accepted by its name only",
		func(ctx SpecContext, waiving func(...infrav1.PreflightCheck) client.Object, field string) {
			Expect(person.Create(ctx, waiving(infrav1.PreflightChecks()...))).To(Succeed())
			err := person.Create(ctx, waiving("OtherNodes", "NodesReady"))
			expect(err, field+`[1]: Unsupported value: "NodesReady"`)
			Expect(err).To(MatchError(ContainSubstring(`"NodeReady"`)), "which names there are")
		},
		Entry("on a cluster", func(checks ...infrav1.PreflightCheck) client.Object {
			return &infrav1.ElementalCluster{ObjectMeta: meta("c-"), Spec: infrav1.ElementalClusterSpec{SkipPreflight: checks}}
		}, "spec.skipPreflight"),
		Entry("on a template", func(checks ...infrav1.PreflightCheck) client.Object {
			return &infrav1.ElementalMachineTemplate{ObjectMeta: meta("t-"), Spec: infrav1.ElementalMachineTemplateSpec{SkipPreflight: checks}}
		}, "spec.skipPreflight"),
		Entry("on an attempt", func(checks ...infrav1.PreflightCheck) client.Object {
			return &infrav1.ElementalHostUpgrade{ObjectMeta: meta("u-"), Spec: infrav1.ElementalHostUpgradeSpec{
				ClusterName: "c", MachineName: "m", ElementalMachineName: "em", HostName: "h", ImageURI: "oci://os:v1",
				OSVersionManagement: osversion.OfImage("oci://os:v1"), SkipPreflight: checks,
			}}
		}, "spec.skipPreflight"),
	)

	It("in the annotation of an ElementalMachine is warned of, and not refused", func(ctx SpecContext) {
		machine := &infrav1.ElementalMachine{ObjectMeta: meta("m-")}
		machine.Annotations = map[string]string{infrav1.SkipPreflightAnnotation: "NodeReady, NodesReady"}
		person.Warnings = nil
		Expect(person.Create(ctx, machine)).To(Succeed())
		Expect(person.Warnings).To(HaveExactElements(ContainSubstring(`waives nothing by "NodesReady", which is no preflight check`)))
		machine.Annotations[infrav1.SkipPreflightAnnotation] = "NodeReadys"
		person.Warnings = nil
		Expect(person.Update(ctx, machine)).To(Succeed())
		Expect(person.Warnings).To(HaveExactElements(ContainSubstring(`waives nothing by "NodeReadys"`)))
		machine.Finalizers = []string{"a/b"}
		person.Warnings = nil
		Expect(person.Update(ctx, machine)).To(Succeed())
		Expect(person.Warnings).To(BeEmpty(), "of what was there before")
	})

	It("and a quarantine are not both for templates of clusters", func(ctx SpecContext) {
		template := &infrav1.ElementalClusterTemplate{ObjectMeta: meta("ct-")}
		template.Spec.Template.Spec.SkipPreflight = []infrav1.PreflightCheck{"OtherNodes"}
		Expect(person.Create(ctx, template.DeepCopy())).To(Succeed())
		template.Spec.Template.Spec.Quarantine = []infrav1.QuarantinedImage{{Digest: "sha256:1"}}
		expect(person.Create(ctx, template), "spec.template.spec.quarantine")
	})
})
