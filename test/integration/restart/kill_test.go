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
	DescribeTable("whose manager is killed", func(ctx SpecContext, at moment) {
		u := newUpgrade(ctx, image.OS{UpgradeSeconds: writing})
		u.startUntil(ctx, at)
		theLab.Provider.Process.Kill()
		restartManager(ctx)
		u.expectSucceeded(ctx)
		u.expectAttempts(ctx, infrav1.UpgradeSucceeded)
	},
		Entry("when it is requested", requested),
		Entry("in Preflight", preflight),
		Entry("in Prefetch", acknowledged),
		Entry("when the image is there", fetched),
		Entry("in Admit", admitted),
		Entry("in Cordon", cordoned),
		Entry("in Drain", draining),
		Entry("in Trigger", triggered),
		Entry("in Reboot, while the image is written", applying),
		Entry("in Reboot, while the host goes down", rebooting),
		Entry("in Assess", labelled),
		Entry("in Uncordon", uncordoned),
		Entry("at its end", succeeded),
	)

	DescribeTable("whose agent is killed", func(ctx SpecContext, at moment) {
		u := newUpgrade(ctx, image.OS{UpgradeSeconds: writing})
		u.startUntil(ctx, at)
		Expect(u.host.KillAgent(ctx)).To(Succeed())
		u.expectSucceeded(ctx)
		u.expectAttempts(ctx, infrav1.UpgradeSucceeded)
	},
		Entry("when it has answered", acknowledged),
		Entry("when it has the image", fetched),
		Entry("when it is triggered", triggered),
		Entry("while it writes the image", applying),
		Entry("while it goes down", rebooting),
		Entry("when it has come back", booted),
		Entry("while it assesses its boot", assessing),
		Entry("when it has found its boot good", assessed),
	)
})

// restartManager starts the manager again, and waits until it can be asked.
func restartManager(ctx context.Context) {
	GinkgoHelper()
	Expect(theLab.Provider.Process.Restart()).To(Succeed())
	Expect(theLab.Provider.AwaitReady(ctx)).To(Succeed())
}
