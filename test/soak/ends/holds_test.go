// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package ends_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

// hold blocks attempts at a step.
type hold struct {
	// impose starts to block attempts there, and returns a function that releases them. It may be called while an
	// attempt is blocked at the previous step.
	impose func(ctx context.Context, u *upgrade) (lift func(ctx context.Context))
	// message that an attempt reports meanwhile.
	message string
	// marks that it has set by then.
	marks scenario.Marks
	// foreign are the marks among them that were set by someone else, and that stay.
	foreign scenario.Marks
	// begun reports that the host has started what cannot be undone.
	begun bool
}

// Marks that attempts have set by some steps.
var (
	asked    = scenario.Marks{Asked: true}
	admitted = scenario.Marks{Asked: true, Slots: 1, Moveless: true}
	// protected is the Machine before its node is cordoned.
	protected = with(admitted, func(m *scenario.Marks) { m.SkipRemediation, m.SkipRemediationBy = true, true })
	cordoned  = with(protected, func(m *scenario.Marks) { m.Unschedulable, m.CordonedBy = true, ours })
	// triggered is for one boot, and stays until the attempt is withdrawn.
	triggered = with(cordoned, func(m *scenario.Marks) { m.Label = infrav1.InPlaceUpgradePending })
	serving   = with(admitted, func(m *scenario.Marks) { m.Label = infrav1.InPlaceUpgradePending })
)

func with(marks scenario.Marks, change func(*scenario.Marks)) scenario.Marks {
	change(&marks)
	return marks
}

// holds has a hold for each step of the product.
var holds = map[string]hold{
	"Preflight": {impose: stopAgent, message: "waiting for the elemental-agent of ElementalHost", marks: asked},
	"Prefetch": {
		impose: func(context.Context, *upgrade) func(context.Context) {
			release := theLab.Registry.Hold()
			return func(context.Context) { release() }
		},
		message: "is fetching", marks: asked,
	},
	// The options of the specs of the steps make every node wait there.
	"Approve": {
		impose:  func(context.Context, *upgrade) func(context.Context) { return func(context.Context) {} },
		message: "is paused", marks: asked,
	},
	"Admit": {
		impose: takeSlot, message: "waiting for an upgrade slot of Cluster",
		marks: with(asked, func(m *scenario.Marks) { m.Slots = 1 }), foreign: scenario.Marks{Slots: 1},
	},
	"Cordon": {
		impose:  refuseNode("no-cordon", "the cordon is refused", "!("+isCordonedByUs("object")+") || "+isCordonedByUs("oldObject")),
		message: "the cordon is refused", marks: protected,
	},
	"EvacuateVMs":   {impose: forbidToMoveGuest, message: "label " + infrav1.VMPolicyLabel + " is Block", marks: cordoned},
	"Drain":         {impose: forbidEvictions, message: "PodDisruptionBudget default/all-of-web allows no eviction of Pods default/web-", marks: cordoned},
	"DetachVolumes": {impose: attachVolume, message: "waiting for volumes to be detached from Node", marks: cordoned},
	"Trigger":       {impose: refuseTrigger, message: "the trigger is refused", marks: cordoned},
	"Reboot":        {impose: hangShutdown, message: "is rebooting", marks: triggered, begun: true},
	"Assess":        {impose: unreadyDaemon, message: "waiting for DaemonSet Pod default/watchman-", marks: triggered, begun: true},
	"Uncordon": {
		impose:  refuseNode("no-uncordon", "the uncordon is refused", isCordonedByUs("object")+" || !("+isCordonedByUs("oldObject")+")"),
		message: "the uncordon is refused", marks: triggered, begun: true,
	},
	"RestoreVMs": {impose: refuseStart, message: "cannot be started again", marks: serving, begun: true},
	"Settle":     {impose: failAttachment, message: "waiting for volumes to be attached to Node", marks: serving, begun: true},
}

// begin blocks attempts until the returned function is first called.
func (h hold) begin(ctx context.Context, u *upgrade) (lift func(ctx context.Context)) {
	GinkgoHelper()
	lifted, release := false, h.impose(ctx, u)
	return func(ctx context.Context) {
		GinkgoHelper()
		if !lifted {
			lifted = true
			release(ctx)
		}
	}
}

// holdAt blocks attempts at a step until the returned function is called or the spec ends.
func holdAt(ctx context.Context, u *upgrade, step string) (lift func(ctx context.Context)) {
	GinkgoHelper()
	lift = holds[step].begin(ctx, u)
	DeferCleanup(lift)
	return lift
}

// held waits until a new attempt, other than the former one, is blocked at a step, with the marks that it has set by
// then.
func (u *upgrade) held(ctx context.Context, step string, former types.UID) *infrav1.ElementalHostUpgrade {
	GinkgoHelper()
	u.stopped(ctx, step, former)
	row{phase: infrav1.UpgradeProgressing, marks: holds[step].marks, answer: unasked}.expect(ctx, u)
	return u.theAttempt(ctx)
}

// stopped waits until a new attempt, other than the former one, reports that it waits at a step.
func (u *upgrade) stopped(ctx context.Context, step string, former types.UID) {
	GinkgoHelper()
	Eventually(u.attempt).WithContext(ctx).Should(And(
		HaveField("UID", Not(Equal(former))),
		HaveField("Status.Phase", infrav1.UpgradeProgressing),
		HaveField("Status.Step", step),
		HaveField("Status.Message", ContainSubstring(holds[step].message)),
	))
}

// isCordonedByUs is a CEL expression for an admission policy.
func isCordonedByUs(object string) string {
	return strings.NewReplacer("OBJECT", object, "MARK", infrav1.CordonedByAnnotation).
		Replace("(has(OBJECT.metadata.annotations) && 'MARK' in OBJECT.metadata.annotations)")
}
