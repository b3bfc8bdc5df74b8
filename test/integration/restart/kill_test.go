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
	// Each entry is one upgrade with a kill at each of several moments.
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
		Entry("when the image was fetched, in Trigger, and at its end", fetched, triggered, succeeded),
		Entry("in Reboot, while the image is written, and when its boot passed the assessment", applying, assessed),
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
		Entry("when it has acknowledged, while it writes the image, and while it assesses its boot", acknowledged, applying, assessing),
		Entry("when it has fetched the image, while it reboots, and when its boot passed the assessment", fetched, rebooting, assessed),
		Entry("when it is triggered, and after the reboot", triggered, booted),
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

// restartManager restarts the manager, and waits until it is ready.
func restartManager(ctx context.Context) {
	GinkgoHelper()
	Expect(theLab.Provider.Process.Restart()).To(Succeed())
	Expect(theLab.Provider.AwaitReady(ctx)).To(Succeed())
}
