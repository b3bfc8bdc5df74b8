// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("Without feature gates and a runtime extension, a KubeadmControlPlane of three with a worker", Ordered, func() {
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
	)

	BeforeAll(func(ctx SpecContext) {
		l := suite.StartLab(ctx, lab.Options{WithoutInPlaceUpdates: true, WithoutExtension: true})
		suite.KeepsMachines(l)
		cluster = suite.NewCluster(ctx, l, scenario.Options{ControlPlane: 3, Pools: []scenario.Pool{{Name: scenario.Template, Workers: 1}}})
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})

	AfterEach(func(ctx SpecContext) {
		Expect(cluster.Identities(ctx)).To(Equal(before), "every Machine, Node name and provider ID is the same")
		suite.ExpectOwnersLeftAlone(cluster.Lab)
	})

	It("is upgraded by a patch of each template, one node at a time", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
	})

	It("stops at a bad image on its first node, and goes on with the next image", func(ctx SpecContext) {
		former, err := digests(ctx, cluster)
		Expect(err).NotTo(HaveOccurred())
		bad := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy})
		Expect(cluster.PatchControlPlaneImage(ctx, bad)).To(Succeed())
		attempt, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())
		Consistently(digests, calm).WithContext(ctx).WithArguments(cluster).Should(Equal(former))
		Expect(attempt.Spec.Driver).To(Equal(infrav1.DriverDirect))

		good := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchControlPlaneImage(ctx, good)).To(Succeed())
		Expect(cluster.AwaitControlPlaneImage(ctx, good)).To(Succeed())
	})
})
