// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package restart_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

var _ = Describe("An upgrade", func() {
	// Each entry is one upgrade with a death at each of some moments that are apart.
	DescribeTable("whose manager is killed", func(ctx SpecContext, at ...moment) {
		u := newUpgrade(ctx, image.OS{})
		for _, stop := range u.start(ctx, at...) {
			stop.await()
			theLab.Provider.Process.Kill()
			stop.goOn()
			restartManager(ctx)
		}
		u.expectSucceeded(ctx)
		u.expectAttempts(ctx, infrav1.UpgradeSucceeded)
	},
		Entry("when it is requested, in Admit, and while the host goes down", requested, admitted, rebooting),
		Entry("in Preflight, Cordon and Assess", preflight, cordoned, waitsInAssess),
		Entry("in Prefetch, Drain and Uncordon", acknowledged, draining, uncordoned),
		Entry("when the image is there, in Trigger, and at its end", fetched, triggered, succeeded),
		Entry("in Reboot, while the image is written, and when its boot was found good", applying, assessed),
	)

	DescribeTable("whose agent is killed", func(ctx SpecContext, at ...moment) {
		u := newUpgrade(ctx, image.OS{})
		for _, stop := range u.start(ctx, at...) {
			stop.await()
			Expect(u.host.KillAgent(ctx)).To(Succeed())
			stop.goOn()
		}
		u.expectSucceeded(ctx)
		u.expectAttempts(ctx, infrav1.UpgradeSucceeded)
	},
		Entry("when it has answered, while it writes the image, and while it assesses its boot", acknowledged, applying, assessing),
		Entry("when it has the image, while it goes down, and when it has found its boot good", fetched, rebooting, assessed),
		Entry("when it is triggered, and when it has come back", triggered, booted),
	)

	It("whose manager and agent are killed in the middle", func(ctx SpecContext) {
		u := newUpgrade(ctx, image.OS{})
		goOn := u.startUntil(ctx, applying)
		theLab.Provider.Process.Kill()
		Expect(u.host.KillAgent(ctx)).To(Succeed())
		goOn()
		reboots := u.rebooted(1)
		restartManager(ctx)
		Expect(reboots).To(BeTrue(), "the agent goes on by itself")
		u.expectSucceeded(ctx)
		u.expectAttempts(ctx, infrav1.UpgradeSucceeded)
	})
})

// restartManager starts the manager again, and waits until it can be asked.
func restartManager(ctx context.Context) {
	GinkgoHelper()
	Expect(theLab.Provider.Process.Restart()).To(Succeed())
	Expect(theLab.Provider.AwaitReady(ctx)).To(Succeed())
}
