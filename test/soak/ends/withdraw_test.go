// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package ends_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// at is the row of an attempt that is blocked at a step.
func at(step, says string) row {
	return row{phase: infrav1.UpgradeProgressing, marks: holds[step].marks, answer: step + " (" + says}
}

var _ = DescribeTable("An attempt is withdrawn", func(ctx SpecContext, e end) { e.run(ctx) },
	Entry("Superseded before the reboot", end{
		reach: func(ctx context.Context, u *upgrade) { startTo(ctx, u, "Drain") },
		row:   at("Drain", "7/14): PodDisruptionBudget"), then: expectSuperseded,
	}),
	Entry("Superseded before the reboot, by the original template", end{
		reach: func(ctx context.Context, u *upgrade) { startTo(ctx, u, "Drain") },
		row:   at("Drain", "7/14): PodDisruptionBudget"),
		then:  func(ctx context.Context, u *upgrade) { goBack(ctx, u, scenario.Marks{}) },
	}),
	Entry("not Superseded after the reboot: it is completed, and then the original template is rolled out", end{
		reach: func(ctx context.Context, u *upgrade) { startTo(ctx, u, "Reboot") },
		row:   at("Reboot", "10/14): ElementalHost HOST is rebooting"),
		then: func(ctx context.Context, u *upgrade) {
			next := upgradeTo(ctx, running)
			next.boots++ // the reboot in progress
			next.patch(ctx)
			Consistently(u.attempt, calm).WithContext(ctx).Should(HaveField("Status.Phase", infrav1.UpgradeProgressing))
			u.lift(ctx)
			Eventually(u.attempt).WithContext(ctx).Should(HaveField("Status.Phase", infrav1.UpgradeSucceeded))
			next.expectSucceeded(ctx)
		},
	}),
	Entry("Superseded after the reboot, when the node does not become healthy in time", end{
		options: infrav1.NodeUpgradeOption{Timeouts: infrav1.UpgradeTimeouts{AssessmentSeconds: new(int32(1))}},
		os:      image.OS{KubeletVersion: "v1.35.0"},
		reach:   startOnly,
		row:     at("Assess", "11/14): Node HOST runs kubelet v1.35.0 and Machine"),
		then: func(ctx context.Context, u *upgrade) {
			Eventually(u.attempt).WithContext(ctx).Should(HaveField("Status.Message", HaveSuffix("(for longer than 1s)")))
			expectSuperseded(ctx, u)
		},
	}),
	Entry("Aborted after the trigger, once the silent agent reports that it has not begun", end{
		reach: func(ctx context.Context, u *upgrade) {
			silenceBeforeTrigger(ctx, u)
			Eventually(u.attempt).WithContext(ctx).Should(HaveField("Status.Message",
				Equal("waiting for the elemental-agent of ElementalHost "+u.host.Name()+" to start")))
			u.set(ctx, "cancel", true)
		},
		row: row{
			phase:  infrav1.UpgradeProgressing,
			marks:  with(cordoned, func(m *scenario.Marks) { m.Asked, m.Moveless = false, false }),
			answer: "Reboot (10/14): waiting for the elemental-agent of ElementalHost HOST to confirm that it has not started (ending as Aborted: ",
		},
		then: func(ctx context.Context, u *upgrade) {
			u.lift(ctx)
			row{phase: infrav1.UpgradeAborted, answer: "Aborted: aborted by spec.cancel"}.expect(ctx, u)
			u.expectUntouched()
			u.kubectl(ctx, "delete")
			u.expectSucceeded(ctx)
		},
	}),
	Entry("Aborted: the Machine is deleted before the host has begun; the cordon is left to Cluster API's drain", end{
		reach: func(ctx context.Context, u *upgrade) {
			startTo(ctx, u, "Drain")
			suite.DeleteMachine(ctx, cluster)
		},
		row: row{phase: infrav1.UpgradeAborted, marks: scenario.Marks{Unschedulable: true, CordonedBy: ours}, answer: unasked},
		then: func(ctx context.Context, u *upgrade) {
			u.lift(ctx)
			u.expectFreed(ctx, 0)
		},
	}),
	Entry("Aborted: the Machine is deleted after the host has begun, which completes what it does before it is reset", end{
		reach: func(ctx context.Context, u *upgrade) {
			startTo(ctx, u, "Reboot")
			suite.DeleteMachine(ctx, cluster)
			Eventually(u.attempt).WithContext(ctx).Should(HaveField("Status.Message", ContainSubstring("is being deleted: waiting for ElementalHost")))
		},
		row: row{phase: infrav1.UpgradeProgressing, marks: triggered, answer: unasked},
		then: func(ctx context.Context, u *upgrade) {
			u.lift(ctx)
			u.expectFreed(ctx, 1)
		},
	}),
)

// expectFreed waits until another Machine and another host have taken over, and the former host is available.
func (u *upgrade) expectFreed(ctx context.Context, writes int) {
	GinkgoHelper()
	u.expectReplaced(ctx)
	suite.ExpectOneServes(ctx, cluster)
	Eventually(cluster.Nodes).WithContext(ctx).Should(And(
		HaveLen(2), Not(ContainElement(HaveField("Name", u.worker.Node)))), "the Node of the former Machine is gone, and that of the next and the external one are there")
	finished, _ := suite.Writes(u.host, u.began)
	Expect(finished).To(Equal(writes), "what was begun is brought to its end, and nothing else is begun")
	expectNextSucceeds(ctx)
}

// expectReplaced waits until another Machine runs the image.
func (u *upgrade) expectReplaced(ctx context.Context) {
	GinkgoHelper()
	suite.ExpectReplaced(ctx, cluster, u.worker, u.wanted)
	running = u.wanted
}
