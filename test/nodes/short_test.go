// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/nspawn"
)

// The essence of the other specs, for machines with little time.
var _ = Describe("One real node", Ordered, Label(shortLabel), func() {
	It("is upgraded to a good image", func(ctx SpecContext) {
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		boots, bootID := allBoots(), readNode(ctx, hosts[0].Name).Status.NodeInfo.BootID
		good := setup.Push(ctx, "v2", nil)
		Expect(cluster.PatchImage(ctx, good)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, good)).To(Succeed())
		Expect(allBoots()-boots).To(BeEquivalentTo(len(hosts)), "one reboot each")
		after := readNode(ctx, hosts[0].Name)
		Expect(after.Status.NodeInfo.OSImage).To(Equal("v2"))
		Expect(after.Status.NodeInfo.BootID).NotTo(Equal(bootID))
		Expect(cluster.Identities(ctx)).To(Equal(before))
	})

	It("falls back from a bad one", func(ctx SpecContext) {
		boots := allBoots()
		bad := setup.Push(ctx, "v3-unit", nspawn.FailingUnit)
		Expect(cluster.PatchImage(ctx, bad)).To(Succeed())
		attempt, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())
		Expect(attempt.Status.Message).To(ContainSubstring("units failed that had not failed before: broken.service"))
		Expect(allBoots()-boots).To(BeEquivalentTo(2), "there and back")
		Eventually(readNode).WithContext(ctx).WithArguments(attempt.Status.NodeName).Should(HaveField("Status.NodeInfo.OSImage", "v2"))
	})
})
