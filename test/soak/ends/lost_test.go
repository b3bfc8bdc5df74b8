// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package ends_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// lost is the row of a host that does not come back: MachineHealthChecks may remediate it, and nothing else is
// released.
var lost = row{
	phase: infrav1.UpgradeHostLost,
	marks: with(cordoned, func(m *scenario.Marks) {
		m.Label, m.SkipRemediation, m.SkipRemediationBy = infrav1.InPlaceUpgradePending, false, false
	}),
	answer: "HostLost: ElementalHost HOST has not come back within 10s of being triggered",
}

var _ = DescribeTable("A host that stops reporting is Lost", func(ctx SpecContext, os image.OS, vanish, then func(context.Context, *upgrade)) {
	setOptions(ctx, infrav1.NodeUpgradeOption{Timeouts: infrav1.UpgradeTimeouts{RebootSeconds: new(int32(10))}})
	u := newUpgrade(ctx, os)
	vanish(ctx, u)
	lost.expect(ctx, u)
	then(ctx, u)
},
	Entry("the agent was killed before the trigger; then it is started", image.OS{}, silenceBeforeTrigger, wake),
	Entry("the agent was killed after the trigger; then it is started", image.OS{},
		func(ctx context.Context, u *upgrade) {
			release := u.startWriting(ctx)
			u.lift = holdAt(ctx, u, "Preflight")
			release()
		}, wake),
	Entry("the power was lost while the image was written; then it returns and continues", image.OS{}, losePower,
		func(ctx context.Context, u *upgrade) {
			Expect(u.host.PowerOn(ctx)).To(Succeed())
			u.expectSucceeded(ctx)
		}),
	Entry("the power was lost while the host went down; then it boots what it had written", image.OS{},
		func(ctx context.Context, u *upgrade) {
			u.host.HangShutdown(true)
			DeferCleanup(u.host.HangShutdown, false)
			u.start(ctx)
			u.stopped(ctx, "Reboot", "")
			Expect(u.host.PowerOff(ctx)).To(Succeed())
		},
		func(ctx context.Context, u *upgrade) {
			u.host.HangShutdown(false)
			Expect(u.host.PowerOn(ctx)).To(Succeed())
			u.expectSucceeded(ctx)
		}),
	Entry("the power was lost; then a person releases its slot, and it falls back", image.OS{Boot: source.BootUnhealthy}, losePower,
		func(ctx context.Context, u *upgrade) {
			u.set(ctx, "release", true)
			released := lost
			released.marks.Slots = 0
			released.expect(ctx, u)
			Expect(u.host.PowerOn(ctx)).To(Succeed())
			row{
				phase:  infrav1.UpgradeRolledBack,
				answer: "RolledBack: ElementalHost HOST runs its former OS again: ",
			}.expect(ctx, u)
			expectNextSucceeds(ctx)
		}),
	Entry("the power was lost; then its Machine is deleted and replaced, and the host is available again when it returns", image.OS{}, losePower,
		func(ctx context.Context, u *upgrade) {
			suite.DeleteMachine(ctx, cluster)
			u.expectReplaced(ctx)
			Expect(u.host.PowerOn(ctx)).To(Succeed())
			suite.ExpectOneServes(ctx, cluster)
			// Before the agent could reset the host its kubelet has registered the Node again.
			_, err := theLab.WorkloadKubectl(ctx, "delete", "node", u.worker.Node, "--ignore-not-found")
			Expect(err).NotTo(HaveOccurred())
			expectNextSucceeds(ctx)
		}),
)

// silenceBeforeTrigger stops the agent before its host is triggered.
func silenceBeforeTrigger(ctx context.Context, u *upgrade) {
	GinkgoHelper()
	startTo(ctx, u, "Drain")
	release := u.lift
	u.lift = holdAt(ctx, u, "Preflight")
	release(ctx)
}

// wake restarts the agent, which continues.
func wake(ctx context.Context, u *upgrade) {
	GinkgoHelper()
	u.lift(ctx)
	u.expectSucceeded(ctx)
}

// losePower cuts the power while the image is written. Restoring it causes a boot that the agent did not request.
func losePower(ctx context.Context, u *upgrade) {
	GinkgoHelper()
	release := u.startWriting(ctx)
	Expect(u.host.PowerOff(ctx)).To(Succeed())
	release()
	u.boots++
}
