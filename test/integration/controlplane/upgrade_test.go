// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

var _ = Describe("A patched template of a control plane", Ordered, func() {
	It("upgrades", func(ctx SpecContext) {
		cluster := newCluster(ctx, startLab(ctx, lab.Options{}), scenario.Options{ControlPlane: 3})
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		v2, err := cluster.PushImage(ctx, "v2", image.OS{})
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.PatchControlPlaneImage(ctx, v2)).To(Succeed())
		Expect(cluster.AwaitControlPlaneImage(ctx, v2)).To(Succeed())
		expectKept(ctx, cluster, before)
	})
})
