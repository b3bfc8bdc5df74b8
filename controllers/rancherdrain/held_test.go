// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancherdrain_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = DescribeTable("An attempt that has not succeeded", func(phase infrav1.UpgradePhase) {
	w := newWorld()
	attempt := w.rollOut(attempts.StepHandOver)
	w.asks(all...)
	w.reconcile()
	Expect(w.answers()).To(Equal(onlyPre))

	By("holding the Node, and saying so")
	w.end(attempt, phase)
	Expect(w.reconcile().RequeueAfter).NotTo(BeZero())
	Expect(w.answers()).NotTo(HaveKey(post))
	said := fmt.Sprintf("RancherDrainHeld: Rancher waits with Node node-m cordoned: ElementalHostUpgrade %s ended as %s: went wrong. "+
		"Patch the template to another image or, to have Rancher go on without it, set spec.cancel", attempt.Name, phase)
	Expect(w.recorder.said).To(ConsistOf("*v1beta2.Machine "+said, "*v1beta2.Cluster "+said))

	By("holding it no longer once a person has given it up")
	apiserver.Change(ctx, c, attempt, func(u *infrav1.ElementalHostUpgrade) { u.Spec.Cancel = true })
	w.reconcile()
	Expect(w.answers()).To(Equal(bothGiven))
	Expect(w.recorder.said).To(HaveLen(2))
},
	Entry(nil, infrav1.UpgradeRolledBack),
	Entry(nil, infrav1.UpgradeFailed),
	Entry(nil, infrav1.UpgradeAborted),
)

var _ = It("An attempt whose host is lost holds the Node and says so, until a person has released it", func() {
	w := newWorld()
	attempt := w.rollOut(attempts.StepHandOver, attempts.StepReboot)
	w.asks(all...)
	w.end(attempt, infrav1.UpgradeHostLost)
	Expect(w.reconcile().RequeueAfter).NotTo(BeZero())
	Expect(w.answers()).To(Equal(onlyPre))
	said := "RancherDrainHeld: Rancher waits with Node node-m cordoned: ElementalHostUpgrade " + attempt.Name + " is HostLost: went wrong. Bring the host back, " +
		"delete Machine m or, to have Rancher go on without it, set spec.release"
	Expect(w.recorder.said).To(ConsistOf("*v1beta2.Machine "+said, "*v1beta2.Cluster "+said))
	apiserver.Change(ctx, c, attempt, func(u *infrav1.ElementalHostUpgrade) { u.Spec.Release = true })
	w.reconcile()
	Expect(w.answers()).To(Equal(bothGiven))
	Expect(w.recorder.said).To(HaveLen(2))
})

var _ = It("What a user or the host has to end of an attempt holds the Node, and the event says so until the hook is answered", func() {
	w := newWorld()
	attempt := w.rollOut(attempts.StepApprove)
	held := func(reason infrav1.HoldReason) {
		GinkgoHelper()
		apiserver.ChangeStatus(ctx, c, attempt, func(u *infrav1.ElementalHostUpgrade) {
			u.Status.Holds = []infrav1.UpgradeHold{{Reason: reason, Message: "because", Since: metav1.Now(), Who: reason.Who()}}
		})
		w.reconcile()
	}
	w.asks(rancher.PreDrainAnnotation)
	held(infrav1.HoldNoSlot)
	Expect(w.recorder.said).To(BeEmpty())
	held(infrav1.HoldNodePaused)
	said := "RancherDrainHeld: Rancher waits with Node node-m cordoned: ElementalHostUpgrade " + attempt.Name + " is held: because"
	Expect(w.recorder.said).To(ConsistOf("*v1beta2.Machine "+said, "*v1beta2.Cluster "+said))
	w.enter(attempt, attempts.StepCordon, attempts.StepHandOver)
	w.reconcile()
	Expect(w.answers()).To(Equal(onlyPre))
	Expect(w.recorder.said).To(HaveLen(2))
})

var _ = It("A host that has not reported holds the Node of a machine that waits for its attempt, and the event says so", func() {
	w := newWorld()
	apiserver.ChangeStatus(ctx, c, w.host, func(h *infrav1.ElementalHost) { h.Status = infrav1.ElementalHostStatus{} })
	w.patch(imageB)
	w.assign(imageB, rolledOut)
	w.asks(all...)
	Expect(w.reconcile().RequeueAfter).NotTo(BeZero())
	Expect(w.answers()).To(BeEmpty())
	said := "RancherDrainHeld: Rancher waits with Node node-m cordoned: ElementalMachine m has no ElementalHost that has joined and reported: does its elemental-agent run?"
	Expect(w.recorder.said).To(ConsistOf("*v1beta2.Machine "+said, "*v1beta2.Cluster "+said))
})

var _ = It("An attempt that was released holds no Node", func() {
	w := newWorld()
	attempt := w.rollOut(attempts.StepHandOver)
	w.asks(all...)
	apiserver.Change(ctx, c, attempt, func(u *infrav1.ElementalHostUpgrade) { u.Spec.Release = true })
	w.end(attempt, infrav1.UpgradeAborted)
	w.reconcile()
	Expect(w.answers()).To(Equal(bothGiven))
})

var _ = It("Nothing is said of an attempt that has not succeeded before Rancher has cordoned the Node", func() {
	w := newWorld()
	w.end(w.rollOut(attempts.StepHandOver), infrav1.UpgradeRolledBack)
	w.asks()
	w.reconcile()
	Expect(w.answers()).To(BeEmpty())
	Expect(w.recorder.said).To(BeEmpty())
})
