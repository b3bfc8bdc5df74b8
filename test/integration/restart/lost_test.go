// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package restart_test

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("A host that loses its power", func() {
	It("while it writes the image, writes it again", func(ctx SpecContext) {
		u := newUpgrade(ctx, image.OS{})
		goOn := u.startUntil(ctx, applying)
		Expect(u.host.PowerOff(ctx)).To(Succeed())
		goOn()
		Expect(u.host.PowerOn(ctx)).To(Succeed())
		u.boots++ // the agent did not request this one
		u.expectSucceeded(ctx)
		u.expectAttempts(ctx, infrav1.UpgradeSucceeded)
	})

	DescribeTable("is Lost after the reboot timeout, until it comes back",
		func(ctx SpecContext, os image.OS, release bool, end infrav1.UpgradePhase) {
			setOptions(ctx, infrav1.NodeUpgradeOption{Timeouts: infrav1.UpgradeTimeouts{RebootSeconds: new(int32(outage / time.Second))}})
			u := newUpgrade(ctx, os)
			goOn := u.startUntil(ctx, applying)
			Expect(u.host.PowerOff(ctx)).To(Succeed())
			goOn()
			u.boots++
			Eventually(u.attempt).WithContext(ctx).Should(HaveField("Status.Phase", infrav1.UpgradeHostLost))
			attempt, err := u.attempt(ctx)
			Expect(err).NotTo(HaveOccurred())
			lost := scenario.Marks{
				Unschedulable: true, CordonedBy: attempt.Status.Attempt, Slots: 1, Asked: true, Moveless: true,
				Label: infrav1.InPlaceUpgradePending,
			}
			Eventually(u.marks).WithContext(ctx).Should(Equal(lost), "health checks may decide, and nothing else is given up")
			Eventually(u.says).WithContext(ctx).Should(ContainSubstring("HostLost: ElementalHost " + u.host.Name() + " has not come back"))
			if release {
				u.set(ctx, "release")
				lost.Slots = 0
				Eventually(u.marks).WithContext(ctx).Should(Equal(lost))
			}

			Expect(u.host.PowerOn(ctx)).To(Succeed())
			Eventually(u.attempt).WithContext(ctx).Should(HaveField("Status.Phase", end))
			Eventually(u.marks).WithContext(ctx).Should(Equal(scenario.Marks{}))
			finished, killed := suite.Writes(u.host, u.began)
			Expect([]int{finished, killed}).To(Equal([]int{1, 1}), "the write that lost its power was repeated once")

			if end == infrav1.UpgradeSucceeded {
				return
			}
			By("continuing with the next image")
			next := newUpgrade(ctx, image.OS{})
			next.startUntil(ctx, applying)()
			next.expectSucceeded(ctx)
		},
		Entry("and continues", image.OS{}, false, infrav1.UpgradeSucceeded),
		Entry("and falls back", image.OS{Boot: source.BootUnhealthy}, true, infrav1.UpgradeRolledBack),
	)

	It("while it shuts down, is Lost, and boots the image that it has written when it comes back", func(ctx SpecContext) {
		setOptions(ctx, infrav1.NodeUpgradeOption{Timeouts: infrav1.UpgradeTimeouts{RebootSeconds: new(int32(outage / time.Second))}})
		u := newUpgrade(ctx, image.OS{})
		goOn := u.startUntil(ctx, rebooting)
		Expect(u.host.PowerOff(ctx)).To(Succeed())
		goOn()
		Eventually(u.attempt).WithContext(ctx).Should(HaveField("Status.Phase", infrav1.UpgradeHostLost))
		Expect(u.host.PowerOn(ctx)).To(Succeed())
		u.expectSucceeded(ctx)
		u.expectAttempts(ctx, infrav1.UpgradeSucceeded)
	})

	It("and its Machine, is replaced, and is available again when it comes back", func(ctx SpecContext) {
		setOptions(ctx, infrav1.NodeUpgradeOption{Timeouts: infrav1.UpgradeTimeouts{RebootSeconds: new(int32(outage / time.Second))}})
		u := newUpgrade(ctx, image.OS{})
		goOn := u.startUntil(ctx, applying)
		Expect(u.host.PowerOff(ctx)).To(Succeed())
		goOn()
		Eventually(u.attempt).WithContext(ctx).Should(HaveField("Status.Phase", infrav1.UpgradeHostLost))
		suite.DeleteMachine(ctx, cluster)
		suite.ExpectReplaced(ctx, cluster, u.before, u.wanted)

		Expect(u.host.PowerOn(ctx)).To(Succeed())
		suite.ExpectOneServes(ctx, cluster)
		Expect(cluster.Nodes(ctx)).To(HaveLen(2), "the Node that its kubelet registered again is gone with its reset")
	})
})

// setOptions changes how the cluster is upgraded, until the spec ends.
func setOptions(ctx context.Context, options infrav1.NodeUpgradeOption) {
	GinkgoHelper()
	patch := func(ctx context.Context, value any) {
		GinkgoHelper()
		encoded, err := json.Marshal(map[string]any{"spec": map[string]any{"nodeUpgradeOption": value}})
		Expect(err).NotTo(HaveOccurred())
		_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "elementalcluster", cluster.Options.Name,
			"--type", "merge", "--patch", string(encoded))
		Expect(err).NotTo(HaveOccurred())
	}
	patch(ctx, options)
	DeferCleanup(func(ctx SpecContext) { patch(ctx, nil) })
}
