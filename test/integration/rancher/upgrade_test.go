// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("The OS within Rancher's drain", Ordered, func() {
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
	)
	BeforeAll(func(ctx SpecContext) {
		cluster = suite.NewCluster(ctx, theLab, scenario.Options{
			Name: "hooked", Rancher: true, ControlPlane: 1, Workers: 2, DrainOptions: withHooks,
		})
		Expect(cluster.PatchUpgradeOption(ctx, `{"allowQuorumLoss":true}`)).To(Succeed())
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})
	AfterEach(func(ctx SpecContext) {
		Expect(cluster.Identities(ctx)).To(Equal(before))
		Expect(marksLeft(ctx, cluster)).To(BeEmpty())
	})

	It("waits for Rancher, and says what has it drain the Nodes", func(ctx SpecContext) {
		wanted := patch(ctx, cluster, image.OS{}, controlPlanes, scenario.Deployment)
		for _, pool := range []string{controlPlanes, scenario.Deployment} {
			Eventually(says).WithContext(ctx).WithArguments(cluster, pool, infrav1.RolloutBlockedCondition).
				Should(Equal(said{"True", infrav1.WaitingForRancherReason}))
		}
		condition, err := cluster.TemplateCondition(ctx, scenario.Deployment, infrav1.RolloutBlockedCondition)
		Expect(err).NotTo(HaveOccurred())
		Expect(condition.Message).To(Equal("Cluster hooked: 2 Machines are upgraded when Rancher drains their Nodes, as it does for another version of " +
			"Kubernetes. For the OS alone raise spec.rkeConfig.provisionGeneration of clusters.provisioning.cattle.io hooked"))
		waits(ctx, cluster, wanted, 3)

		roll(ctx, cluster)
		Expect(cluster.AwaitRancher(ctx)).To(Succeed())
		Eventually(ends).WithContext(ctx).WithArguments(cluster, wanted).Should(And(HaveLen(3), HaveEach(infrav1.UpgradeSucceeded)))
		for _, pool := range []string{controlPlanes, scenario.Deployment} {
			Expect(cluster.AwaitRolledOut(ctx, pool)).To(Succeed())
		}
	})

	It("does not hold a drain that nothing is to be upgraded in", func(ctx SpecContext) {
		attempts, err := cluster.Attempts(ctx)
		Expect(err).NotTo(HaveOccurred())
		roll(ctx, cluster)
		Expect(cluster.AwaitRancher(ctx)).To(Succeed())
		Expect(cluster.Attempts(ctx)).To(HaveLen(len(attempts)))
	})

	It("goes by the stages of an ElementalClusterUpgrade, for which Rancher waits", func(ctx SpecContext) {
		wanted, workers := suite.Push(ctx, cluster, image.OS{}), rancher.DeploymentName(cluster.Options.Name, scenario.Deployment)
		Expect(cluster.ApplyUpgrade(ctx, "rancher", wanted, `  order:
  - {pools: [control-plane]}
  - {pools: [`+workers+`], nodes: 1, soakSeconds: 30}
  - {pools: ["*"]}
`)).To(Succeed())
		Eventually(cluster.Upgrade).WithContext(ctx).WithArguments("rancher").Should(HaveField("Status.Message",
			ContainSubstring("raise spec.rkeConfig.provisionGeneration")))
		waits(ctx, cluster, wanted, 3)

		roll(ctx, cluster)
		_, err := cluster.AwaitMessage(ctx, wanted, "Admit", "waiting for ElementalClusterUpgrade rancher: stage "+workers+" (nodes: 1) is done, and it soaks until ")
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.AwaitRancher(ctx)).To(Succeed())
		Eventually(cluster.Upgrade).WithContext(ctx).WithArguments("rancher").Should(HaveField("Status.Phase", infrav1.ClusterUpgradeSucceeded))
		Expect(ends(ctx, cluster, wanted)).To(And(HaveLen(3), HaveEach(infrav1.UpgradeSucceeded)))
	})

	It("has Rancher wait where an image is bad, and goes on with the next one in the same drain", func(ctx SpecContext) {
		bad := patch(ctx, cluster, image.OS{Boot: source.BootUnhealthy}, scenario.Deployment)
		roll(ctx, cluster)
		attempt, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())
		Eventually(heldEvents).WithContext(ctx).WithArguments(cluster).Should(ContainElement(ContainSubstring(
			"Rancher waits with Node " + attempt.Status.NodeName + " cordoned: ElementalHostUpgrade " + attempt.Name + " ended as RolledBack")))
		Eventually(says).WithContext(ctx).WithArguments(cluster, scenario.Deployment, infrav1.RolloutBlockedCondition).
			Should(Equal(said{"True", infrav1.AttemptNotSucceededReason}))
		Consistently(ends, calm).WithContext(ctx).WithArguments(cluster, bad).Should(ConsistOf(infrav1.UpgradeRolledBack, infrav1.UpgradeProgressing))
		secret := planOf(ctx, cluster, attempt.Spec.MachineName)
		Expect(secret.Annotations).To(HaveKey(rancher.PostDrainAnnotation))
		Expect(secret.Annotations).NotTo(HaveKey(infrav1.RancherPostDrainAnnotation))

		good := patch(ctx, cluster, image.OS{}, scenario.Deployment)
		Expect(cluster.AwaitRancher(ctx)).To(Succeed())
		Expect(cluster.AwaitRolledOut(ctx, scenario.Deployment)).To(Succeed())
		Eventually(ends).WithContext(ctx).WithArguments(cluster, good).Should(And(HaveLen(2), HaveEach(infrav1.UpgradeSucceeded)))
		Expect(ends(ctx, cluster, bad)).To(And(HaveLen(2), HaveEach(infrav1.UpgradeSuperseded)))
	})
})
