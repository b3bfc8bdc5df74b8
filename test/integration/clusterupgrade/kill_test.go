// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/sets"

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
		seen := sets.New[string]()
		Eventually(func(g Gomega) {
			now, err := status(ctx, "killed")
			g.Expect(err).NotTo(HaveOccurred())
			edge := now.Stage
			if now.NodesDone != nil {
				edge += fmt.Sprintf(" %d", *now.NodesDone)
			}
			if !seen.Has(edge) {
				seen.Insert(edge)
				theLab.Provider.Process.Kill()
				g.Expect(theLab.Provider.Process.Restart()).To(Succeed())
				g.Expect(theLab.Provider.AwaitReady(ctx)).To(Succeed())
			}
			g.Expect(now.Phase).To(Equal(infrav1.ClusterUpgradeSucceeded))
		}, whole, 50*time.Millisecond).Should(Succeed())
		Expect(len(seen)).To(BeNumerically(">=", 7), "edges at which it was killed: %s", sets.List(seen))

		order, err := begun(ctx, wanted)
		Expect(err).NotTo(HaveOccurred())
		Expect(order).To(HaveLen(all), "each node once")
		Expect(order[:2]).To(ConsistOf(ofB), "those of the first two stages first")
		Expect(audit.MaxOverlap(audit.Cordons(suite.Audit(cluster.Workload())))).To(Equal(1), "one node at a time")
	})
})
