// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
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

// pause pauses the Cluster, or lets it go on.
func (w *world) pause(ctx context.Context, paused bool) {
	GinkgoHelper()
	change(ctx, w, clusterName, &clusterv1.Cluster{}, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = &paused })
	w.agent.paused = paused
}

// moveWhenAllowed moves the Cluster as soon as nothing is in the way of that, and lets hosts find it after a while.
func (w *world) moveWhenAllowed(ctx context.Context, lift func(context.Context, *world)) {
	GinkgoHelper()
	w.pause(ctx, true)
	for range 2 { // the first one says that it is paused
		_, err := w.reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
	}
	if w.marks(ctx).BlockMove {
		lift(ctx, w)
		w.drive(ctx, func() bool { return !w.marks(ctx).BlockMove })
		Expect(w.marks(ctx).BlockMove).To(BeFalse())
	}
	reported := w.move(ctx)
	w.pause(ctx, false)
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
		"Succeeded", "RolledBack", "RolledBack, to be kept cordoned", "Failed before the node is touched", "Failed before the reboot",
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
			before := w.marks(ctx)
			Expect(before).To(Equal(s.expected(w)))

			w.moveWhenAllowed(ctx, nil)
			w.drive(ctx, nil)
			Expect(w.marks(ctx)).To(Equal(before))
			Expect(w.status(ctx).Message).To(Equal("ended before it was moved to this management cluster"))
			Expect(w.agent.applied).To(HaveLen(done))
			Expect(since(ended, ends())).To(BeEmpty(), "it has been counted where it ended")
		})
	}
})

var _ = Describe("The slot of an attempt that is moved", func() {
	It("is given to no other before the attempt takes it again", func(ctx SpecContext) {
		h := holds()[6] // Reboot
		w := held(ctx, h)
		w.addWorker(ctx, w.namespace+"-b")
		w.addUpgrade(ctx, "upgrade-b", w.namespace+"-b", infrav1.NodeUpgradeOption{})
		second := newAgent(w, w.namespace+"-b")
		secondStep := func() string {
			_, err := w.reconcileNamed(ctx, "upgrade-b")
			Expect(err).NotTo(HaveOccurred())
			second.tick(ctx)
			status := get(ctx, w, "upgrade-b", &infrav1.ElementalHostUpgrade{}).Status
			return status.Step + ": " + status.Message
		}
		w.pause(ctx, true)
		h.lift(ctx, w)
		for range 2 {
			_, err := w.reconcile(ctx)
			Expect(err).NotTo(HaveOccurred())
		}
		w.drive(ctx, func() bool { return !w.marks(ctx).BlockMove })
		reported := w.move(ctx)
		w.pause(ctx, false)

		Eventually(secondStep).Should(Equal("Admit (4/14): waiting for a free upgrade slot: moved here with cordoned nodes were " + w.upgrade))
		_, err := w.reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(secondStep()).To(HaveSuffix("moved here with cordoned nodes were "+w.upgrade), "its host has not been heard of")
		w.answer(ctx, reported)
		_, err = w.reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(secondStep()).To(Equal("Admit (4/14): waiting for a free upgrade slot: 1 of 1 taken by " + w.upgrade))
	})
})
