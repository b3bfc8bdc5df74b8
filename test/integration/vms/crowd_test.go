// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vms_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const (
	// perMachine is how many API calls an evacuation may make for each virtual machine. test/soak/vms tests 500 of
	// them, and counts all calls; here the lists of each pass over the cluster are counted separately, because a slow
	// machine takes more passes.
	perMachine = 6
	// listsPerLook is how often one pass may list the same resource, regardless of the number of machines: Pods are
	// listed for virt-handler, on the node, as targets of migrations, and on two nodes with free capacity.
	listsPerLook = 3
)

var _ = Describe("Many virtual machines on a node", func() {
	It("are migrated with few API calls for each, and none restarts", func(ctx SpecContext) {
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
		calls, single := scenario.Calls(suite.Audit(cluster.Workload()), cluster.Lab.WorkloadUser(), began), 0
		GinkgoWriter.Println(moves, "moves:", calls)
		looks := calls["list validatingwebhookconfigurations"] // KubeVirt's webhook is checked before each eviction
		for call, count := range calls {
			if strings.HasPrefix(call, "list ") {
				Expect(count).To(BeNumerically("<=", listsPerLook*looks), "%s, in %v", call, calls)
				continue
			}
			single += count
		}
		Expect(float64(single)/float64(moves)).To(BeNumerically("<=", perMachine), "%v", calls)
		expectNothingLeft(ctx)
	}, SpecTimeout(5*patience))
})
