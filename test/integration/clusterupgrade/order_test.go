// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const canaryOfB = `  order:
  - {pools: [pool-b], nodes: 1, soakSeconds: 60}
  - {pools: ["*"]}
`

var _ = Describe("An ElementalClusterUpgrade", func() {
	It("upgrades a canary, soaks, and then all pools", func(ctx SpecContext) {
		wanted, ofB := suite.Push(ctx, cluster, image.OS{}), hostsOf(ctx, poolB)
		Expect(apply(ctx, "canary", wanted, canaryOfB)).To(Succeed())

		By("upgrading the canary")
		Eventually(status).WithContext(ctx).WithArguments("canary").Should(
			HaveField("Message", HavePrefix("stage pool-b (nodes: 1) is done, and it soaks until ")))
		Expect(begun(ctx, wanted)).To(And(HaveLen(1), HaveEach(BeElementOf(ofB))))
		Consistently(begun, calm).WithContext(ctx).WithArguments(wanted).Should(HaveLen(1), "nobody else begins while it soaks")
		_, err := cluster.AwaitMessage(ctx, wanted, "Admit", "waiting for ElementalClusterUpgrade canary: stage pool-b (nodes: 1) is done, and it soaks until ")
		Expect(err).NotTo(HaveOccurred())

		Eventually(func() (string, error) {
			return cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "get", "ecu", "canary")
		}).Should(
			MatchRegexp(`Progressing +pool-b \(nodes: 1\) \(3/5\) +1 +6 +\d{4}-\d\d-\d\dT\S+Z +\S+ +stage pool-b`), "with its ETA")

		By("upgrading all the others")
		Eventually(phase, whole).WithContext(ctx).WithArguments("canary").Should(Equal(infrav1.ClusterUpgradeSucceeded))
		awaitAll(ctx, wanted)
		Expect(status(ctx, "canary")).To(And(HaveField("Message", "6 nodes run "+wanted.URI()), HaveField("NodesDone", HaveValue(BeEquivalentTo(all)))))
		Expect(audit.MaxOverlap(audit.Cordons(suite.Audit(cluster.Workload())))).To(Equal(1), "one node at a time")
	})

	It("stops at a bad image in the canary, and makes way for another one", func(ctx SpecContext) {
		bad := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy})
		Expect(apply(ctx, "bad", bad, canaryOfB)).To(Succeed())
		Eventually(status).WithContext(ctx).WithArguments("bad").Should(And(
			HaveField("Phase", infrav1.ClusterUpgradeFailed),
			HaveField("Message", And(HavePrefix("node "), ContainSubstring("is RolledBack"), HaveSuffix("Create another ElementalClusterUpgrade, with an image that boots")))))
		Consistently(begun, calm).WithContext(ctx).WithArguments(bad).Should(HaveLen(1), "nobody else is touched")
		expectHeldInNeighbour(ctx, bad)

		good := suite.Push(ctx, cluster, image.OS{})
		Expect(apply(ctx, "good", good, canaryOfB)).To(Succeed())
		Eventually(phase, whole).WithContext(ctx).WithArguments("good").Should(Equal(infrav1.ClusterUpgradeSucceeded))
		Expect(phase(ctx, "bad")).To(Equal(infrav1.ClusterUpgradeSuperseded))
		Expect(audit.TriggeredFor(suite.Audit(theLab.Management), bad.URI())).To(HaveLen(2), "one host of each Cluster was triggered for the bad image")
	})

	It("stops before the next node while it is paused, and holds the rest when it is cancelled, until another one takes them", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(apply(ctx, "first", wanted, "")).To(Succeed())
		Expect(apply(ctx, "second", wanted, "")).To(MatchError(ContainSubstring("ElementalClusterUpgrade first of Cluster " + cluster.Options.Name + " has not ended")))
		Eventually(begun).WithContext(ctx).WithArguments(wanted).Should(HaveLen(1))

		By("pausing it while the first node is in work")
		Expect(patch(ctx, "first", `{"paused":true}`)).To(Succeed())
		Eventually(status).WithContext(ctx).WithArguments("first").Should(And(
			HaveField("NodesDone", HaveValue(BeEquivalentTo(1))), HaveField("Message", "paused: set spec.paused to false to go on")))
		Consistently(begun, calm).WithContext(ctx).WithArguments(wanted).Should(HaveLen(1))

		By("cancelling it")
		Expect(patch(ctx, "first", `{"cancel":true,"paused":false}`)).To(Succeed())
		Eventually(phase).WithContext(ctx).WithArguments("first").Should(Equal(infrav1.ClusterUpgradeCancelled))
		_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "delete", "ecu", "first")
		Expect(err).NotTo(HaveOccurred())
		_, err = cluster.AwaitMessage(ctx, wanted, "Admit", "ElementalClusterUpgrade first was cancelled before this node")
		Expect(err).NotTo(HaveOccurred())
		Consistently(begun, calm).WithContext(ctx).WithArguments(wanted).Should(HaveLen(1))

		By("beginning again")
		Expect(apply(ctx, "second", wanted, "")).To(Succeed())
		Eventually(phase, whole).WithContext(ctx).WithArguments("second").Should(Equal(infrav1.ClusterUpgradeSucceeded))
		awaitAll(ctx, wanted)
		Expect(begun(ctx, wanted)).To(HaveLen(all), "each node once")
	})
})
