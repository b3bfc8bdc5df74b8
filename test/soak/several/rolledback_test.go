// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package several_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = DescribeTable("A node that has rolled back does not block nodes that want another image",
	func(ctx SpecContext, policy infrav1.RollbackPolicy, cordoned bool) {
		Expect(cluster.PatchUpgradeOption(ctx, `{"maxConcurrent":1,"onRollback":"`+string(policy)+`"}`)).To(Succeed())
		bad, good := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy}), suite.Push(ctx, cluster, image.OS{})
		r := begin(ctx, cluster, map[string]image.Image{east: bad})
		attempt, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())
		Expect(cordonedNodes(ctx)).To(HaveLen(map[bool]int{true: 1, false: 0}[cordoned]))

		r.patch(ctx, map[string]image.Image{west: bad})
		Eventually(says, patience, look).WithContext(ctx).WithArguments(west, bad).Should(ContainElement(And(
			ContainSubstring("is quarantined because it failed on ElementalHost "+attempt.Spec.HostName),
			ContainSubstring("patch the template to a good image"))), "who wants the same image is told")

		r.patch(ctx, map[string]image.Image{west: good})
		Expect(cluster.AwaitPool(ctx, west, good)).To(Succeed())
		r.expectOnce(ctx, west)
		Expect(cordonedNodes(ctx)).To(HaveLen(map[bool]int{true: 1, false: 0}[cordoned]), "what was kept is still kept")
		if cordoned {
			Expect(warned(ctx, west, good)).To(ContainElement(And(
				HavePrefix("Node/"+attempt.Spec.HostName), ContainSubstring(attempt.Name))), "and the others say so")
		}

		r.patch(ctx, map[string]image.Image{east: good})
		r.expectDone(ctx)
		r.expectOnce(ctx, west)
		cordons, triggered := r.atOnce(r.nodes()...)
		Expect(triggered).To(Equal(1))
		Expect(cordons).To(Equal(map[bool]int{true: 2, false: 1}[cordoned]), "one at a time, beside the node that is kept cordoned")
	},
	Entry("and is uncordoned", infrav1.RollbackUncordon, false),
	Entry("and is kept cordoned", infrav1.RollbackKeepCordoned, true),
)

// says lists what the attempts of a pool for an image wait for.
func says(ctx context.Context, pool string, os image.Image) ([]string, error) {
	said := []string{}
	attempts, err := attemptsFor(ctx, pool, os)
	for i := range attempts {
		said = append(said, attempts[i].Status.Message)
	}
	return said, err
}

// warned lists what the preflight checks of a pool found without blocking.
func warned(ctx context.Context, pool string, os image.Image) ([]string, error) {
	said := []string{}
	attempts, err := attemptsFor(ctx, pool, os)
	for i := range attempts {
		for _, result := range attempts[i].Status.Preflight {
			if result.Verdict == infrav1.PreflightWarn {
				said = append(said, result.Object+": "+result.Message)
			}
		}
	}
	return said, err
}

func attemptsFor(ctx context.Context, pool string, os image.Image) ([]infrav1.ElementalHostUpgrade, error) {
	machines, err := cluster.PoolMachines(ctx, pool)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for i := range machines {
		names[machines[i].Name] = true
	}
	attempts, err := cluster.Attempts(ctx)
	found := []infrav1.ElementalHostUpgrade{}
	for i := range attempts {
		if names[attempts[i].Spec.MachineName] && attempts[i].Spec.ImageURI == os.URI() {
			found = append(found, attempts[i])
		}
	}
	return found, err
}

func cordonedNodes(ctx context.Context) ([]string, error) {
	nodes, err := cluster.Nodes(ctx)
	names := []string{}
	for i := range nodes {
		if nodes[i].Spec.Unschedulable {
			names = append(names, nodes[i].Name)
		}
	}
	return names, err
}
