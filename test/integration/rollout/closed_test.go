// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("Where the preconditions for in-place updates are not met", func() {
	DescribeTable("a patched template changes nothing, deletes nothing, and reports what to change",
		func(ctx SpecContext, labOptions lab.Options, options scenario.Options, reason, remedy string) {
			options.Workers = 1
			cluster := suite.NewCluster(ctx, suite.StartLab(ctx, labOptions), options)
			before, err := cluster.Identities(ctx)
			Expect(err).NotTo(HaveOccurred())
			reference := deployment(ctx, cluster).Spec.Template.Spec.InfrastructureRef

			Expect(cluster.PatchImage(ctx, push(ctx, cluster, "v2", image.OS{}))).To(Succeed())

			Eventually(blocked).WithContext(ctx).WithArguments(cluster).Should(And(
				HaveField("Reason", reason), HaveField("Message", ContainSubstring(remedy))))
			Consistently(cluster.Machines, calm).WithContext(ctx).Should(HaveLen(1))
			Expect(deployment(ctx, cluster).Spec.Template.Spec.InfrastructureRef).To(Equal(reference))
			expectKept(ctx, cluster, before)
		},
		Entry("feature gate InPlaceUpdates off", lab.Options{WithoutInPlaceUpdates: true}, scenario.Options{},
			infrav1.FeatureGatesOffReason, "InPlaceUpdates"),
		Entry("no ExtensionConfig", lab.Options{WithoutExtension: true}, scenario.Options{},
			infrav1.ExtensionNotReadyReason, "ExtensionConfig"),
		Entry("maxSurge 1", lab.Options{}, scenario.Options{MaxSurge: 1},
			infrav1.UnsupportedStrategyReason, "maxSurge"),
	)
})

func deployment(ctx context.Context, cluster *scenario.Cluster) *clusterv1.MachineDeployment {
	GinkgoHelper()
	md := &clusterv1.MachineDeployment{}
	Expect(cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: scenario.Deployment}, md)).To(Succeed())
	return md
}

// blocked is the condition RolloutBlocked of the workers' template while it is True.
func blocked(ctx context.Context, cluster *scenario.Cluster) (*blockedCondition, error) {
	template := &infrav1.ElementalMachineTemplate{}
	err := cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: scenario.Template}, template)
	if err != nil || !conditions.IsTrue(template, infrav1.RolloutBlockedCondition) {
		return &blockedCondition{}, err
	}
	found := conditions.Get(template, infrav1.RolloutBlockedCondition)
	return &blockedCondition{Reason: found.Reason, Message: found.Message}, nil
}

type blockedCondition struct{ Reason, Message string }
