// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package restart_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

const (
	// calm is how long something must not happen.
	calm = 3 * time.Second
	// atOnce is how long the upgrade may take to continue after a person has resumed a node.
	atOnce = 8 * time.Second
)

var _ = Describe("A node that waits for a person", func() {
	DescribeTable("is not touched, whoever restarts, until it is resumed", func(ctx SpecContext, resume func(SpecContext, *upgrade)) {
		setOptions(ctx, infrav1.NodeUpgradeOption{Strategy: infrav1.NodeUpgradeStrategy{Mode: infrav1.NodeUpgradeModeManual}})
		u := newUpgrade(ctx, image.OS{})
		u.startUntil(ctx, atStep("Approve"))
		attempt, err := u.attempt(ctx)
		Expect(err).NotTo(HaveOccurred())
		paused := scenario.Marks{Paused: attempt.Spec.RolloutName, PausedBy: attempt.Spec.RolloutName, Asked: true}
		Expect(u.marks(ctx)).To(Equal(paused), "annotated, not cordoned, and without a slot")

		theLab.Provider.Process.Kill()
		restartManager(ctx)
		Consistently(u.marks, calm).WithContext(ctx).Should(Equal(paused))

		come := cordoned.watch(ctx, u.wanted)
		resume(ctx, u)
		Eventually(come, atOnce).Should(BeClosed(), "it goes on at once")
		u.expectSucceeded(ctx)
		u.expectAttempts(ctx, infrav1.UpgradeSucceeded)
	},
		Entry("by taking the annotation off its Node", func(ctx SpecContext, u *upgrade) {
			_, err := theLab.WorkloadKubectl(ctx, "annotate", "node", u.before.Node, infrav1.NodeUpgradePauseAnnotation+"-")
			Expect(err).NotTo(HaveOccurred())
		}),
		Entry("by spec.approved", func(ctx SpecContext, u *upgrade) { u.set(ctx, "approved") }),
	)
})
