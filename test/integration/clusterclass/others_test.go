// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterclass_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("Where Cluster API would replace Machines", func() {
	It("a variable changes nothing, deletes nothing, and the Cluster reports what to change", func(ctx SpecContext) {
		cluster := suite.NewCluster(ctx, suite.StartLab(ctx, lab.Options{WithoutInPlaceUpdates: true}), scenario.Options{Workers: 1, Spare: 1, Class: true})
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		at, err := reference(ctx, cluster)
		Expect(err).NotTo(HaveOccurred())

		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.SetVariables(ctx, map[string]string{inplace.OSImageVariable: wanted.URI()})).To(Succeed())

		Eventually(cluster.TopologyError).WithContext(ctx).Should(And(
			ContainSubstring("would be replaced"), ContainSubstring("feature gates InPlaceUpdates")))
		Consistently(cluster.Machines, 2*calm).WithContext(ctx).Should(HaveLen(1))
		Expect(reference(ctx, cluster)).To(Equal(at))
		expectKept(ctx, cluster, before)
	})
})

var _ = Describe("A cluster of a ClusterClass with a KubeadmControlPlane", func() {
	It("has its control plane and its workers upgraded by one variable", func(ctx SpecContext) {
		cluster := suite.NewCluster(ctx, suite.StartLab(ctx, lab.Options{}), scenario.Options{Workers: 1, ControlPlane: 3, Class: true})
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())

		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.SetVariables(ctx, map[string]string{inplace.OSImageVariable: wanted.URI()})).To(Succeed())

		Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		Expect(attemptsFor(ctx, cluster, wanted)).To(HaveLen(4))
		Eventually(cluster.TopologyError).WithContext(ctx).Should(BeEmpty())
		Expect(writesOfOurs(cluster)).To(BeEmpty())
		expectKept(ctx, cluster, before)
	})
})
