// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("An ElementalClusterUpgrade whose manager is killed", func() {
	It("whenever another stage, or another node that is done, is seen, upgrades each node once and in its order", func(ctx SpecContext) {
		wanted, ofB := suite.Push(ctx, cluster, image.OS{}), hostsOf(ctx, poolB)
		Expect(apply(ctx, "killed", wanted, `  order:
  - {pools: [pool-b], nodes: 1, soakSeconds: 3}
  - {pools: [pool-b]}
  - {pools: ["*"]}
`)).To(Succeed())
		edges := suite.KillAtEachEdge(ctx, theLab, whole, func(ctx context.Context) (string, bool, error) {
			now, err := status(ctx, "killed")
			return fmt.Sprintf("%s %d", now.Stage, ptr.Deref(now.NodesDone, 0)), now.Phase == infrav1.ClusterUpgradeSucceeded, err
		})
		Expect(len(edges)).To(BeNumerically(">=", 7), "edges at which it was killed: %s", edges)

		order, err := begun(ctx, wanted)
		Expect(err).NotTo(HaveOccurred())
		Expect(order).To(HaveLen(all), "each node once")
		Expect(order[:2]).To(ConsistOf(ofB), "those of the first two stages first")
		Expect(audit.MaxOverlap(audit.Cordons(suite.Audit(cluster.Workload())))).To(Equal(1), "one node at a time")
	})
})
