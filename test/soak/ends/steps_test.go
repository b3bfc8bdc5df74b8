// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package ends_test

import (
	"context"
	"errors"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/hostupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

var errNotYet = errors.New("not yet")

// manual makes every node wait for a person.
var manual = infrav1.NodeUpgradeOption{Strategy: infrav1.NodeUpgradeStrategy{Mode: infrav1.NodeUpgradeModeManual}}

const (
	tooLateToCancel = "spec.cancel comes too late: what the host has started cannot be undone"
	// settledLater is the answer at step Settle, where nothing is left to be undone.
	settledLater    = "spec.cancel ends this once it has taken 1h0m0s"
	tooLateToDelete = "being deleted: what the host has started is finished first"
)

// One upgrade goes through all steps: at each it is cancelled and, while that has an effect, recreated and deleted.
// Each spec leaves it blocked at the next step.
var _ = Describe("An attempt that a person withdraws", Ordered, func() {
	var (
		u *upgrade
		// lift ends the hold at the step of the next spec.
		lift  func(context.Context)
		steps = hostupgrade.StepNames()
	)

	BeforeAll(func(ctx SpecContext) {
		setOptions(ctx, manual)
		u = newUpgrade(ctx, image.OS{})
		Expect(holds).To(HaveKey(steps[0]))
		lift = holds[steps[0]].begin(ctx, u)
		u.start(ctx)
	})

	AfterAll(func(ctx SpecContext) {
		if lift != nil {
			lift(ctx)
		}
	})

	for at, step := range steps {
		It("at step "+step, func(ctx SpecContext) {
			Expect(holds).To(HaveKey(step), "there is a means to hold an attempt at each step")
			attempt := u.reach(ctx, step, "")
			if holds[step].begun {
				u.cancelInVain(ctx, step)
			} else {
				u.cancelAndDelete(ctx, step, attempt.UID)
			}
			former := lift
			if at+1 < len(steps) {
				Expect(holds).To(HaveKey(steps[at+1]))
				lift = holds[steps[at+1]].begin(ctx, u)
			}
			former(ctx)
		})
	}

	It("continues when it is released", func(ctx SpecContext) {
		u.expectSucceeded(ctx)
		Expect(u.theAttempt(ctx).Status.Phase).To(Equal(infrav1.UpgradeSucceeded))
	})
})

// Once the host has begun, a deletion cannot be undone, so that each of these steps needs an upgrade of its own.
var _ = Describe("An attempt that a person deletes too late", func() {
	for _, step := range hostupgrade.StepNames() {
		if !holds[step].begun {
			continue
		}
		It("at step "+step+", is completed before it is deleted", func(ctx SpecContext) {
			u := newUpgrade(ctx, image.OS{})
			lift := holdAt(ctx, u, step)
			u.start(ctx)
			u.held(ctx, step, "")
			u.kubectl(ctx, "delete", "--wait=false")
			row{phase: infrav1.UpgradeProgressing, marks: holds[step].marks, answer: tooLateToDelete}.expect(ctx, u)
			lift(ctx)
			u.expectSucceeded(ctx)
			Eventually(u.attempt).WithContext(ctx).Should(HaveField("Name", BeEmpty()), "there is nothing left to try again")
		})
	}
})

// reach waits until an attempt is blocked at a step, and approves it if it is paused before.
func (u *upgrade) reach(ctx context.Context, step string, former types.UID) *infrav1.ElementalHostUpgrade {
	GinkgoHelper()
	const pause = "Approve"
	steps := hostupgrade.StepNames()
	marks, err := cluster.Marks(ctx, u.worker)
	Expect(err).NotTo(HaveOccurred())
	if marks.Approved == "" && slices.Index(steps, step) > slices.Index(steps, pause) {
		u.stopped(ctx, pause, former)
		u.set(ctx, "approved", true)
	}
	return u.held(ctx, step, former)
}

// cancelInVain cancels an attempt whose host has begun, and reverts that.
func (u *upgrade) cancelInVain(ctx context.Context, step string) {
	GinkgoHelper()
	answer := tooLateToCancel
	if step == "Settle" {
		answer = settledLater
	}
	u.set(ctx, "cancel", true)
	row{phase: infrav1.UpgradeProgressing, marks: holds[step].marks, answer: answer}.expect(ctx, u)
	u.set(ctx, "cancel", false)
	Eventually(u.attempt).WithContext(ctx).Should(HaveField("Status.Message", Not(ContainSubstring(answer))))
}

// cancelAndDelete cancels an attempt, has it recreated by deleting it, and deletes the new one in the middle.
func (u *upgrade) cancelAndDelete(ctx context.Context, step string, uid types.UID) {
	GinkgoHelper()
	u.set(ctx, "cancel", true)
	row{
		phase: infrav1.UpgradeAborted, marks: holds[step].foreign,
		answer: "Aborted: aborted by spec.cancel: delete the ElementalHostUpgrade to try again",
	}.expect(ctx, u)
	u.kubectl(ctx, "delete")
	again := u.reach(ctx, step, uid)
	u.kubectl(ctx, "delete")
	u.expectUntouched()
	Eventually(cluster.Marks).WithContext(ctx).WithArguments(u.worker).Should(
		HaveField("CordonedBy", Not(Equal(again.Status.Attempt))))
}
