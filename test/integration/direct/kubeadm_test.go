// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct_test

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// Cluster API allows maxSurge 0, without which it replaces Machines, with three or more replicas only.
var _ = Describe("A KubeadmControlPlane of one", Ordered, func() {
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
	)
	BeforeAll(func(ctx SpecContext) {
		cluster = suite.NewCluster(ctx, theLab, scenario.Options{Name: "single", ControlPlane: 1, ControlPlaneMaxSurge: 1})
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})
	AfterEach(func(ctx SpecContext) {
		Expect(cluster.Identities(ctx)).To(Equal(before), "every Machine, Node name and provider ID is the same")
		Expect(cluster.ControlPlaneReference(ctx)).To(Equal(scenario.ControlPlaneTemplate), "its reference is left alone")
		events := suite.Audit(cluster.Workload())
		Expect(audit.Cordons(events)).To(BeEmpty(), "the only Node of a cluster is not cordoned")
		Expect(audit.Evictions(events)).To(BeEmpty(), "and nothing is drained from it")
	})
	rolledOut := func(ctx context.Context) {
		GinkgoHelper()
		Eventually(says).WithContext(ctx).WithArguments(cluster, scenario.ControlPlaneTemplate, infrav1.RolledOutCondition).
			Should(Equal(said{"True", infrav1.RolledOutReason}))
		Eventually(cluster.Marks).WithContext(ctx).WithArguments(before[0]).Should(Equal(scenario.Clean))
	}

	It("waits for consent to the loss of its quorum, and is upgraded without Cluster API", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		attempt, err := cluster.AwaitMessage(ctx, wanted, "Admit", "Set nodeUpgradeOption.allowQuorumLoss in ElementalCluster single")
		Expect(err).NotTo(HaveOccurred())
		Expect(attempt.Spec.Driver).To(Equal(infrav1.DriverDirect))
		Expect(attempt.Status.Message).To(ContainSubstring("loses its API while Node single-cp-1 is down (for how long is not known yet)"))

		Expect(cluster.PatchUpgradeOption(ctx, `{"allowQuorumLoss":true}`)).To(Succeed())
		Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
		rolledOut(ctx)
	})

	It("falls back from a bad image, stops, and continues with the next good one", func(ctx SpecContext) {
		bad := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy})
		Expect(cluster.PatchControlPlaneImage(ctx, bad)).To(Succeed())
		ended, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())
		Expect(ended.Status.Preflight).To(ContainElement(HaveField("Message",
			MatchRegexp(`^loses its API while Node single-cp-1 is down \(about [0-9]+ (second|minute)s?, as in its last upgrade\)`))))
		Eventually(says).WithContext(ctx).WithArguments(cluster, scenario.ControlPlaneTemplate, infrav1.RolloutBlockedCondition).
			Should(Equal(said{"True", infrav1.AttemptNotSucceededReason}))

		good := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchControlPlaneImage(ctx, good)).To(Succeed())
		Expect(cluster.AwaitControlPlaneImage(ctx, good)).To(Succeed())
		rolledOut(ctx)
	})

	It("is not pointed to another template by hand", func(ctx SpecContext) {
		Expect(cluster.CopyControlPlaneTemplate(ctx, "by-hand", suite.Push(ctx, cluster, image.OS{}))).To(Succeed())
		Expect(cluster.PointControlPlane(ctx, "by-hand")).To(MatchError(ContainSubstring("its Machines would be replaced and their hosts reset")))
	})

	It("is upgraded once although the manager is killed again and again", func(ctx SpecContext) {
		triggered := len(audit.Triggered(suite.Audit(theLab.Management))[before[0].Node])
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		killed := killAtSteps(ctx, cluster, wanted)
		Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
		rolledOut(ctx)
		Expect(len(killed)).To(BeNumerically(">", 1), "it was killed at steps %v", killed) // which go by between two looks
		attempts, err := cluster.Attempts(ctx)
		Expect(err).NotTo(HaveOccurred())
		attempts = slices.DeleteFunc(attempts, func(u infrav1.ElementalHostUpgrade) bool { return u.Spec.ImageURI != wanted.URI() })
		Expect(attempts).To(ConsistOf(HaveField("Status.Phase", infrav1.UpgradeSucceeded)))
		Expect(audit.Triggered(suite.Audit(theLab.Management))[before[0].Node]).To(HaveLen(triggered+1), "the host was triggered once")
	})
})

// killAtSteps kills the manager whenever the attempt for an image is seen at another step, until it has ended, and returns the
// steps. The suite directkills kills it after each write.
func killAtSteps(ctx context.Context, cluster *scenario.Cluster, wanted image.Image) []string {
	GinkgoHelper()
	steps := []string{}
	Eventually(func(g Gomega) {
		attempts, err := cluster.Attempts(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		for i := range attempts {
			status := attempts[i].Status
			if attempts[i].Spec.ImageURI != wanted.URI() {
				continue
			}
			if last := len(steps) - 1; status.Step != "" && (last < 0 || steps[last] != status.Step) {
				steps = append(steps, status.Step)
				theLab.Provider.Process.Kill()
				g.Expect(theLab.Provider.Process.Restart()).To(Succeed())
				g.Expect(theLab.Provider.AwaitReady(ctx)).To(Succeed())
			}
			g.Expect(status.Phase.IsEnd()).To(BeTrue())
			return
		}
		g.Expect(attempts).To(ContainElement(HaveField("Spec.ImageURI", wanted.URI())))
	}, 2*specs.Patience).Should(Succeed())
	return steps
}
