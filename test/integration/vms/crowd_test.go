// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vms_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// perMachine is how many API calls an evacuation may make for each virtual machine. test/soak/vms tries 500 of them.
const perMachine = 6

var _ = Describe("Many virtual machines on a node", func() {
	It("move with few API calls for each, and none restarts", func(ctx SpecContext) {
		const size = 60
		crowd, err := cluster.CreateCrowd(ctx, "crowd", size, nodeOne)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(crowd.Delete(ctx)).To(Succeed()) }, NodeTimeout(patience))
		Expect(cluster.Lab.KubeVirt.Configure(ctx, func(c *kubevirtv1.KubeVirtConfiguration) {
			c.MigrationConfiguration = &kubevirtv1.MigrationConfiguration{
				ParallelOutboundMigrationsPerNode: new(uint32(10)), ParallelMigrationsPerCluster: new(uint32(10)),
			}
		})).To(Succeed())
		DeferCleanup(func(ctx SpecContext) error {
			return cluster.Lab.KubeVirt.Configure(ctx, func(c *kubevirtv1.KubeVirtConfiguration) { c.MigrationConfiguration = nil })
		})
		began := time.Now()
		wanted := upgrade(ctx)
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		Expect(crowd.Running(ctx)).To(Equal(crowd.Instances))
		moves, err := crowd.Moves(ctx, wanted)
		Expect(err).NotTo(HaveOccurred())
		Expect(moves).To(BeNumerically(">=", size))
		calls, total := scenario.Calls(suite.Audit(cluster.Workload()), began), 0
		for _, count := range calls {
			total += count
		}
		GinkgoWriter.Println(moves, "moves,", total, "calls:", calls)
		Expect(float64(total)/float64(moves)).To(BeNumerically("<=", perMachine), "%v", calls)
		expectNothingLeft(ctx)
	}, SpecTimeout(5*patience))
})
