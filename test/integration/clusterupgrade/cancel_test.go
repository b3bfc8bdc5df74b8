// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("An ElementalClusterUpgrade that is cancelled", func() {
	It("at any stage holds what it has not begun, and the next one goes on from there", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		workers := append(hostsOf(ctx, poolA), hostsOf(ctx, poolB)...)
		held := suite.HoldHosts(theLab, infrav1.HostUpgradeApplying)
		expectCancelled := func(name string, afterwards int) {
			GinkgoHelper()
			Eventually(phase).WithContext(ctx).WithArguments(name).Should(Equal(infrav1.ClusterUpgradeCancelled))
			Consistently(begun, calm).WithContext(ctx).WithArguments(wanted).Should(HaveLen(afterwards))
		}
		cancelWhile := func(name string, afterwards int, message string) {
			GinkgoHelper()
			Eventually(status).WithContext(ctx).WithArguments(name).Should(HaveField("Message", HavePrefix(message)))
			Expect(patch(ctx, name, `{"cancel":true}`)).To(Succeed())
			expectCancelled(name, afterwards)
		}

		By("cancelling one before it has begun")
		Expect(apply(ctx, "never", wanted, "  cancel: true\n")).To(Succeed())
		expectCancelled("never", 0)

		By("cancelling one while a node is in work")
		Expect(apply(ctx, "in-work", wanted, "")).To(Succeed())
		Eventually(held.Stopped).WithArguments(infrav1.HostUpgradeApplying).Should(Equal(1))
		Expect(patch(ctx, "in-work", `{"cancel":true}`)).To(Succeed())
		Eventually(status).WithContext(ctx).WithArguments("in-work").Should(And(
			HaveField("Phase", infrav1.ClusterUpgradeCancelling), HaveField("Message", HavePrefix("cancelled"))))
		held.Release(infrav1.HostUpgradeApplying, workers...)
		expectCancelled("in-work", 1)

		By("cancelling one while the control plane soaks")
		Expect(apply(ctx, "control-plane-soaks", wanted, `  order:
  - {pools: [control-plane], soakSeconds: 3600}
  - {pools: ["*"]}
`)).To(Succeed())
		cancelWhile("control-plane-soaks", ofControlPlane, "stage control-plane is done, and it soaks until ")

		By("cancelling one while its canary soaks")
		held.Release(infrav1.HostUpgradeApplying)
		Expect(apply(ctx, "canary-soaks", wanted, `  order:
  - {pools: [control-plane]}
  - {pools: [pool-b], nodes: 1, soakSeconds: 3600}
  - {pools: ["*"]}
`)).To(Succeed())
		cancelWhile("canary-soaks", ofControlPlane+1, "stage pool-b (nodes: 1) is done, and it soaks until ")

		By("going on to the end")
		Expect(apply(ctx, "to-the-end", wanted, "")).To(Succeed())
		Eventually(phase, whole).WithContext(ctx).WithArguments("to-the-end").Should(Equal(infrav1.ClusterUpgradeSucceeded))
		awaitAll(ctx, wanted)
		Expect(begun(ctx, wanted)).To(HaveLen(all), "each node once")
		Expect(audit.MaxOverlap(audit.Cordons(suite.Audit(cluster.Workload())))).To(Equal(1), "one node at a time")
	})

	It("and reverted upgrades back the nodes that are done, and no other", func(ctx SpecContext) {
		former := suite.Push(ctx, cluster, image.OS{})
		Expect(apply(ctx, "former", former, "")).To(Succeed())
		Eventually(phase, whole).WithContext(ctx).WithArguments("former").Should(Equal(infrav1.ClusterUpgradeSucceeded))

		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(apply(ctx, "reverted", wanted, "  onCancel: Revert\n")).To(Succeed())
		Eventually(status).WithContext(ctx).WithArguments("reverted").Should(HaveField("NodesDone", HaveValue(BeEquivalentTo(1))))
		Expect(patch(ctx, "reverted", `{"cancel":true}`)).To(Succeed())
		Eventually(phase).WithContext(ctx).WithArguments("reverted").Should(Equal(infrav1.ClusterUpgradeCancelled))
		awaitAll(ctx, former)
		Expect(len(audit.TriggeredFor(suite.Audit(theLab.Management), wanted.URI()))).To(BeNumerically("<=", 2+1), "the first, and those that were in work")
	})
})
