// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vanish_test

import (
	"context"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// awayVariable is the environment variable for how long the workload cluster is down, defaultAway
// its default, for CI.
const (
	awayVariable = "LAB_AWAY"
	defaultAway  = 30 * time.Second
)

var _ = Describe("A workload cluster that is down", func() {
	It("before the trigger, is waited for", func(ctx SpecContext) {
		before := identities(ctx, small)
		u := start(ctx, small, draining)
		theLab.Workload.APIServer.Kill()
		DeferCleanup(restartWorkload)
		Eventually(u.now).WithContext(ctx).Should(HaveValue(HaveField("Status.Message",
			ContainSubstring("cannot reach workload cluster small: "))))
		Consistently(theLab.Provider.Process.Exited(), away(), time.Second).ShouldNot(BeClosed(), "the manager lives on")
		u.expectUntouched()
		restartWorkload(ctx)
		u.release(ctx)
		u.expectSucceeded(ctx)
		Expect(identities(ctx, small)).To(Equal(before))
	})

	It("while the host reboots, does not keep the upgrade from completing later", func(ctx SpecContext) {
		before := identities(ctx, small)
		u := start(ctx, small, applying)
		theLab.Workload.APIServer.Kill()
		DeferCleanup(restartWorkload)
		u.goOn()
		Eventually(u.hostPhase).WithContext(ctx).Should(Equal(infrav1.HostUpgradeSucceeded), "the host goes on by itself")
		Consistently(u.now, away(), time.Second).WithContext(ctx).Should(HaveValue(HaveField("Status.CompletionTime", BeNil())))
		Expect(theLab.Provider.Process.Exited()).NotTo(BeClosed(), "the manager lives on")
		restartWorkload(ctx)
		u.expectSucceeded(ctx)
		Expect(identities(ctx, small)).To(Equal(before))
	})
})

// away is how long the workload cluster is down.
func away() time.Duration {
	GinkgoHelper()
	value := os.Getenv(awayVariable)
	if value == "" {
		return defaultAway
	}
	duration, err := time.ParseDuration(value)
	Expect(err).NotTo(HaveOccurred(), "%s is a duration like 10m", awayVariable)
	return duration
}

// restartWorkload restarts the API server of the workload cluster, unless it runs.
func restartWorkload(ctx context.Context) {
	GinkgoHelper()
	select {
	case <-theLab.Workload.APIServer.Exited():
		Expect(theLab.Workload.RestartAPIServer(ctx)).To(Succeed())
	default:
	}
}
