// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// No webhook of ours is asked about ElementalRollouts: rules of the CRD and the policy in config/policy decide.
var _ = Describe("ElementalRollout", func() {
	create := func(ctx SpecContext) *infrav1.ElementalRollout {
		rollout := &infrav1.ElementalRollout{ObjectMeta: meta("r-"), Spec: infrav1.ElementalRolloutSpec{
			ClusterName: "c", TemplateName: "t", Revision: 1, OSVersionManagement: specs.OS(`{"imageUri":"oci://os:v1","debug":false}`),
			Options: infrav1.NodeUpgradeOption{MaxConcurrent: 2},
		}}
		Expect(person.Create(ctx, rollout)).To(Succeed())
		return rollout
	}

	DescribeTable("is changed", func(ctx SpecContext, change func(*infrav1.ElementalRolloutSpec), refusal string) {
		if refusal == "" {
			rollout := create(ctx)
			change(&rollout.Spec)
			Expect(person.Update(ctx, rollout)).To(Succeed())
			return
		}
		// The API server acts by a policy a moment after it is there, and takes the change until then.
		Eventually(func() error {
			rollout := create(ctx)
			change(&rollout.Spec)
			return person.Update(ctx, rollout)
		}).Should(MatchError(ContainSubstring(refusal)))
	},
		Entry("by its digest", func(s *infrav1.ElementalRolloutSpec) { s.ImageDigest = "sha256:1" }, ""),
		Entry("by what holds it", func(s *infrav1.ElementalRolloutSpec) { s.HeldBy = "edge" }, ""),
		Entry("by its end", func(s *infrav1.ElementalRolloutSpec) { s.Completed = true }, ""),
		Entry("not in its Cluster", func(s *infrav1.ElementalRolloutSpec) { s.ClusterName = "x" }, "to which Cluster, is immutable"),
		Entry("not in its template", func(s *infrav1.ElementalRolloutSpec) { s.TemplateName = "x" }, "is immutable: patch the ElementalMachineTemplate"),
		Entry("not in its number", func(s *infrav1.ElementalRolloutSpec) { s.Revision = 2 }, "is immutable: patch the ElementalMachineTemplate"),
		Entry("not in its options", func(s *infrav1.ElementalRolloutSpec) { s.Options.MaxConcurrent = 3 }, "options are immutable"),
		Entry("not to no options", func(s *infrav1.ElementalRolloutSpec) { s.Options = infrav1.NodeUpgradeOption{} }, "options are immutable"),
		Entry("not in its OS", func(s *infrav1.ElementalRolloutSpec) {
			s.OSVersionManagement = specs.OS(`{"imageUri":"oci://os:v1","debug":true}`)
		}, "the OS of an attempt, and of a rollout, is immutable"),
	)

	It("is recreated by a move as it was, which brings no status", func(ctx SpecContext) {
		rollout := create(ctx)
		rollout.Spec.ImageDigest, rollout.Spec.HeldBy, rollout.Spec.Completed = "sha256:1", "edge", true
		Expect(person.Update(ctx, rollout)).To(Succeed())
		moved := rollout.DeepCopy()
		Expect(person.Delete(ctx, rollout)).To(Succeed())
		moved.ObjectMeta = metav1.ObjectMeta{Namespace: rollout.Namespace, Name: rollout.Name}
		Expect(person.Create(ctx, moved)).To(Succeed())
		Expect(moved.Spec).To(Equal(rollout.Spec))
	})
})
