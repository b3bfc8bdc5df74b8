// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// No webhook of ours is asked about ElementalHostUpgrades: rules of the CRD and the policy in config/policy decide.
var _ = Describe("ElementalHostUpgrade", func() {
	create := func(ctx SpecContext) *infrav1.ElementalHostUpgrade {
		attempt := &infrav1.ElementalHostUpgrade{ObjectMeta: meta("u-"), Spec: infrav1.ElementalHostUpgradeSpec{
			ClusterName: "c", MachineName: "m", ElementalMachineName: "em", HostName: "h", TemplateName: "t",
			ImageURI: "oci://os:v1", OSVersionManagement: specs.OS(`{"imageUri":"oci://os:v1","debug":false}`),
			Options: infrav1.NodeUpgradeOption{MaxConcurrent: 2},
		}}
		Expect(person.Create(ctx, attempt)).To(Succeed())
		return attempt
	}

	DescribeTable("is changed by a person",
		func(ctx SpecContext, change func(*infrav1.ElementalHostUpgradeSpec), refusal string) {
			attempt := create(ctx)
			change(&attempt.Spec)
			if refusal == "" {
				Expect(person.Update(ctx, attempt)).To(Succeed())
				return
			}
			// The API server acts by a policy a moment after it is there, and takes the change until then.
			Eventually(func() error {
				attempt := create(ctx)
				change(&attempt.Spec)
				return person.Update(ctx, attempt)
			}).Should(MatchError(ContainSubstring(refusal)))
		},
		Entry("by approved", func(s *infrav1.ElementalHostUpgradeSpec) { s.Approved = true }, ""),
		Entry("by cancel", func(s *infrav1.ElementalHostUpgradeSpec) { s.Cancel = true }, ""),
		Entry("by release", func(s *infrav1.ElementalHostUpgradeSpec) { s.Release = true }, ""),
		Entry("by skipPreflight", func(s *infrav1.ElementalHostUpgradeSpec) { s.SkipPreflight = []infrav1.PreflightCheck{"OtherNodes"} }, ""),
		Entry("not in its cluster", func(s *infrav1.ElementalHostUpgradeSpec) { s.ClusterName = "x" }, "machine, host and image are immutable"),
		Entry("not in its Machine", func(s *infrav1.ElementalHostUpgradeSpec) { s.MachineName = "x" }, "machine, host and image are immutable"),
		Entry("not in its ElementalMachine", func(s *infrav1.ElementalHostUpgradeSpec) { s.ElementalMachineName = "x" }, "machine, host and image are immutable"),
		Entry("not in its host", func(s *infrav1.ElementalHostUpgradeSpec) { s.HostName = "x" }, "machine, host and image are immutable"),
		Entry("not in its image", func(s *infrav1.ElementalHostUpgradeSpec) { s.ImageURI = "x" }, "machine, host and image are immutable"),
		Entry("not in its template", func(s *infrav1.ElementalHostUpgradeSpec) { s.TemplateName = "" }, "template is immutable"),
		Entry("not in its rollout", func(s *infrav1.ElementalHostUpgradeSpec) { s.RolloutName = "x" }, "rollout is immutable"),
		Entry("not in its options", func(s *infrav1.ElementalHostUpgradeSpec) { s.Options.MaxConcurrent = 3 }, "options are immutable"),
		Entry("not to no options", func(s *infrav1.ElementalHostUpgradeSpec) { s.Options = infrav1.NodeUpgradeOption{} }, "options are immutable"),
		Entry("not in the image that is offered",
			func(s *infrav1.ElementalHostUpgradeSpec) {
				s.OSVersionManagement = specs.OS(`{"imageUri":"oci://os:v2","debug":false}`)
			}, "spec.osVersionManagement: the OS of an attempt, and of a rollout, is immutable"),
		Entry("not in what its hash leaves out",
			func(s *infrav1.ElementalHostUpgradeSpec) {
				s.OSVersionManagement = specs.OS(`{"imageUri":"oci://os:v1","debug":true}`)
			}, "spec.osVersionManagement: the OS of an attempt, and of a rollout, is immutable"),
	)

	It("is recreated by a move, whatever it declares, and keeps its finalizers and status changeable", func(ctx SpecContext) {
		attempt := create(ctx)
		attempt.Finalizers = []string{infrav1.ElementalHostUpgradeFinalizer}
		Expect(person.Update(ctx, attempt)).To(Succeed())
		attempt.Status.Phase = infrav1.UpgradeProgressing
		Expect(person.Status().Update(ctx, attempt)).To(Succeed())
		attempt.Finalizers = nil
		Expect(person.Update(ctx, attempt)).To(Succeed())
		Expect(person.Delete(ctx, attempt)).To(Succeed())
		attempt.ObjectMeta = metav1.ObjectMeta{Namespace: attempt.Namespace, Name: attempt.Name}
		attempt.Spec.OSVersionManagement = specs.OS(`{"imageUri":"oci://os:v2"}`)
		Expect(person.Create(ctx, attempt)).To(Succeed())
		Expect(person.Get(ctx, client.ObjectKeyFromObject(attempt), attempt)).To(Succeed())
	})
})
