// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// move plays "clusterctl move" of a paused Cluster, up to where it is not paused any more: objects get another UID and
// lose their status. It returns what the host's agent reports on the management cluster that it is on now.
func (w *world) move(ctx context.Context) infrav1.ElementalHostStatus {
	GinkgoHelper()
	status := get(ctx, w, w.host, &infrav1.ElementalHost{}).Status
	attempts := &infrav1.ElementalHostUpgradeList{}
	Expect(live.List(ctx, attempts, client.InNamespace(w.namespace))).To(Succeed())
	moved := []client.Object{
		get(ctx, w, w.host, &infrav1.ElementalHost{}),
		get(ctx, w, clusterName, &infrav1.ElementalCluster{}),
	}
	for i := range attempts.Items {
		moved = append(moved, &attempts.Items[i])
	}
	for _, object := range moved {
		finalizers := object.GetFinalizers()
		object.SetFinalizers(nil)
		Expect(live.Update(ctx, object)).To(Succeed())
		Expect(live.Delete(ctx, object)).To(Succeed())
		object.SetResourceVersion("")
		object.SetFinalizers(finalizers)
		Expect(live.Create(ctx, object)).To(Succeed())
	}
	w.restart()
	return status
}

// answer stores the report that an agent begins with.
func (w *world) answer(ctx context.Context, status infrav1.ElementalHostStatus) {
	GinkgoHelper()
	host := get(ctx, w, w.host, &infrav1.ElementalHost{})
	host.Status = status
	Expect(live.Status().Update(ctx, host)).To(Succeed())
}

// depart pauses the Cluster, waits until nothing is in the way of a move, and moves it. What holds the host can be lifted
// meanwhile.
func (w *world) depart(ctx context.Context, lift func(context.Context, *world)) (reported infrav1.ElementalHostStatus) {
	GinkgoHelper()
	pause(ctx, w, true)
	for range 2 { // the first one says that it is paused
		_, err := w.reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
	}
	if w.marks(ctx).BlockMove {
		if lift != nil {
			lift(ctx, w)
		}
		w.drive(ctx, func() bool { return !w.marks(ctx).BlockMove })
		Expect(w.marks(ctx).BlockMove).To(BeFalse())
	}
	reported = w.move(ctx)
	pause(ctx, w, false)
	return reported
}

// moveWhenAllowed moves the Cluster as soon as nothing is in the way of that, and lets hosts find it after a while.
func (w *world) moveWhenAllowed(ctx context.Context, lift func(context.Context, *world)) {
	GinkgoHelper()
	reported := w.depart(ctx, lift)
	silent := w.agent.silent
	w.agent.silent = true
	w.drive(ctx, nil)
	w.agent.silent = silent
	w.answer(ctx, reported)
}

var _ = Describe("An attempt of a Cluster that is moved goes on where it was, and does nothing twice:", func() {
	atEachHold(func(ctx context.Context, h hold) {
		w := held(ctx, h)
		attempt := attemptOf(get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}))
		w.moveWhenAllowed(ctx, h.lift)
		h.lift(ctx, w)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(w.faults.triggers).To(ConsistOf(attempt))
		Expect(w.agent.applied).To(ConsistOf(attempt))
	})
})

var _ = Describe("An attempt that has ended is history after a move:", func() {
	for _, name := range []string{
		"Succeeded", "RolledBack", "RolledBack, to be kept cordoned", "RolledBack, and the former OS is not good either", "Failed before the node is touched", "Failed before the reboot",
		"Superseded before the host has begun", "Aborted while paused",
	} {
		It(name, func(ctx SpecContext) {
			s := scenarios[name]
			w := newWorld(ctx, s.options)
			if s.prepare != nil {
				s.prepare(ctx, w)
			}
			s.lead(ctx, w, nil)
			w.drive(ctx, nil)
			ended, done := ends(), len(w.agent.applied)
			before, isSick := w.marks(ctx), conditions.IsFalse(get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}), infrav1.FormerOSHealthyCondition)
			Expect(before).To(Equal(s.expected(w)))

			w.moveWhenAllowed(ctx, nil)
			w.drive(ctx, nil)
			Expect(w.marks(ctx)).To(Equal(before))
			Expect(w.status(ctx).Message).To(Equal("ended before it was moved to this management cluster"))
			Expect(conditions.IsFalse(get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}), infrav1.FormerOSHealthyCondition)).To(Equal(isSick))
			Expect(w.agent.applied).To(HaveLen(done))
			Expect(since(ended, ends())).To(BeEmpty(), "it has been counted where it ended")
		})
	}
})

// second adds another node, which comes first by its name, with an attempt, and returns how far that has come each time it is looked at.
func (w *world) second(ctx context.Context) func() string {
	GinkgoHelper()
	agent := w.addOther(ctx, "0", infrav1.NodeUpgradeOption{})
	return func() string {
		_, err := w.reconcileNamed(ctx, "upgrade-0")
		Expect(err).NotTo(HaveOccurred())
		agent.tick(ctx)
		status := get(ctx, w, "upgrade-0", &infrav1.ElementalHostUpgrade{}).Status
		return status.Position() + ": " + status.Message
	}
}

var _ = Describe("The slot of an attempt that is moved", func() {
	const waits, taken = "Admit (4/14): waiting for an upgrade slot of Cluster edge: moved here with cordoned nodes were ", "Admit (4/14): waiting for an upgrade slot of Cluster edge: 1 of 1 taken by "

	It("is given to no other before the attempt takes it again", func(ctx SpecContext) {
		h := holds()[6] // Reboot
		w := held(ctx, h)
		second := w.second(ctx)
		h.lift(ctx, w)
		reported := w.depart(ctx, nil)

		Eventually(second).Should(Equal(waits + w.upgrade))
		_, err := w.reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(second()).To(Equal(waits+w.upgrade), "its host has not been heard of")
		w.answer(ctx, reported)
		_, err = w.reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(second()).To(Equal(taken + w.host))
	})

	It("is given to no other while it is not known whether its node is cordoned", func(ctx SpecContext) {
		w := held(ctx, holds()[4]) // Drain
		second := w.second(ctx)
		w.answer(ctx, w.depart(ctx, nil))
		w.connector.unreachable = true
		for range 2 {
			_, err := w.reconcile(ctx)
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(w.status(ctx).Message).To(HavePrefix("cannot reach workload cluster " + clusterName + ": "))
		w.connector.unreachable = false
		Eventually(second).Should(Equal(waits + w.upgrade))
		_, err := w.reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(second()).To(Equal(taken + w.host))
	})
})

var _ = Describe("An attempt whose host is not heard of after a move", func() {
	It("leaves its Machine to the health checks in the end, and can be cancelled", func(ctx SpecContext) {
		w := held(ctx, holds()[10]) // Assess
		w.agent.silent = true
		w.depart(ctx, nil)
		w.rest(ctx)
		waiting := "waiting for the elemental-agent of ElementalHost " + w.host + " to answer"
		Expect(w.status(ctx).Message).To(Equal(waiting))
		Expect(w.marks(ctx).SkipRemediation).To(BeTrue())

		w.clock.SetTime(w.clock.Now().Add(infrav1.DefaultRebootTimeout + time.Second))
		w.rest(ctx)
		Expect(w.status(ctx).Message).To(Equal(waiting + " (for longer than 30m0s)"))
		Expect(w.marks(ctx).SkipRemediation).To(BeFalse())

		change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) { u.Spec.Cancel = true })
		w.rest(ctx)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeAborted))
		Expect(w.marks(ctx).Unschedulable).To(BeFalse())
	})
})
