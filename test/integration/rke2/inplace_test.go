// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rke2_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("An RKE2ControlPlane of three", Ordered, func() {
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
	)

	BeforeAll(func(ctx SpecContext) {
		cluster = suite.NewCluster(ctx, theLab, scenario.Options{ControlPlane: 3, RKE2: true})
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})

	AfterEach(func(ctx SpecContext) {
		Expect(cluster.Identities(ctx)).To(Equal(before), "every Machine, Node name and provider ID is the same")
	})

	It("is upgraded in place one by one", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
		attempts, err := cluster.Attempts(ctx)
		Expect(err).NotTo(HaveOccurred())
		for i := range attempts {
			Expect(attempts[i].Spec.Driver).To(Equal(infrav1.DriverClusterAPI))
		}
	})
})
