// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("A KubeadmControlPlane of one", func() {
	// Cluster API allows maxSurge 0 only with three or more replicas.
	It("is refused before anything changes", func(ctx SpecContext) {
		workload, err := theLab.StartWorkload(ctx, "single")
		Expect(err).NotTo(HaveOccurred())
		cluster := suite.NewCluster(ctx, theLab, scenario.Options{Name: "single", Workload: workload, ControlPlane: 1, ControlPlaneMaxSurge: 1})
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.PatchControlPlaneImage(ctx, suite.Push(ctx, cluster, image.OS{}))).To(Succeed())

		Eventually(says, patience, look).WithContext(ctx).WithArguments(cluster, infrav1.RolloutBlockedCondition).Should(
			Equal(said{"True", infrav1.UnsupportedControlPlaneReason,
				"KubeadmControlPlane control-plane has spec.replicas 1 and cannot be updated in place, " +
					"because Cluster API accepts maxSurge 0 with 3 replicas or more only: " +
					"set spec.replicas 3 and spec.rollout.strategy.rollingUpdate.maxSurge 0, or upgrade its hosts by hand (docs/upgrade.md)"}))
		Consistently(reference, calm, look).WithContext(ctx).WithArguments(cluster).Should(Equal(scenario.ControlPlaneTemplate))
		Expect(cluster.Identities(ctx)).To(Equal(before))
	})
})
