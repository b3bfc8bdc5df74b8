// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// clean is what is left of an attempt that succeeded.
var clean = marks{
	Phase: infrav1.UpgradeSucceeded, Pin: newDigest, OS: newDigest,
}

var _ = Describe("An upgrade", func() {
	It("goes through its steps in their order, and leaves nothing behind", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		addPod(ctx, w, "web")
		change(ctx, w, w.host, &infrav1.ElementalHost{}, func(host *infrav1.ElementalHost) {
			host.Annotations = map[string]string{infrav1.LastAttemptAnnotation: "manual-1=done@" + oldDigest}
		})
		w.rest(ctx)
		Expect(w.status(ctx).Position()).To(Equal("Preflight (1/14)"))
		Expect(w.marks(ctx)).To(Equal(marks{Phase: infrav1.UpgradeProgressing, Asked: true, OS: oldDigest}))

		w.agent.tick(ctx) // acknowledges
		w.rest(ctx)
		Expect(w.status(ctx).Position()).To(Equal("Prefetch (2/14)"))

		w.agent.tick(ctx) // fetches
		Expect(get(ctx, w, w.host, &infrav1.ElementalHost{}).Annotations).To(HaveKey(infrav1.LastAttemptAnnotation), "it runs that still")
		w.agent.tick(ctx) // has fetched
		w.rest(ctx)
		Expect(w.status(ctx).Position()).To(Equal("Reboot (10/14)"))
		Expect(get(ctx, w, "web", &corev1.Pod{})).To(BeNil(), "the Pod is evicted before the host is triggered")
		triggered := marks{
			Phase: infrav1.UpgradeProgressing, Asked: true, OS: oldDigest, Pin: newDigest, Unschedulable: true, CordonedBy: "ours",
			SkipRemediation: true, SkippedBy: "ours", Slots: 1, Label: infrav1.InPlaceUpgradePending, BlockMove: true,
		}
		Expect(w.marks(ctx)).To(Equal(triggered))
		Expect(get(ctx, w, w.host, &infrav1.ElementalHost{}).Annotations).NotTo(HaveKey(infrav1.LastAttemptAnnotation))

		for _, message := range []string{"writing", "rebooting"} {
			w.agent.tick(ctx)
			w.rest(ctx)
			Expect(w.status(ctx).Message).To(ContainSubstring(message))
			Expect(w.marks(ctx)).To(Equal(triggered))
		}
		w.agent.tick(ctx) // boots
		w.rest(ctx)
		Expect(w.status(ctx).Position()).To(Equal("Assess (11/14)"))
		w.agent.tick(ctx) // finds its boot good
		w.rest(ctx)
		Expect(w.status(ctx).Message).To(HaveSuffix("is Ready and is watched for 10s"))
		assessed := triggered
		assessed.OS = newDigest
		Expect(w.marks(ctx)).To(Equal(assessed))

		w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
		w.rest(ctx)
		Expect(w.marks(ctx)).To(Equal(clean))
		status := w.status(ctx)
		Expect(status.From.Version).To(Equal("OS v1"))
		Expect(status.To.Version).To(Equal("OS v2"))
		Expect(status.Digest).To(Equal(newDigest))
		Expect(status.CompletionTime.Sub(status.StartTime.Time)).To(Equal(10 * time.Second))
		Expect(w.faults.triggers).To(HaveLen(1))
	})

	Describe("waits, says for what, and goes on", func() {
		atEachHold(func(ctx context.Context, h hold) {
			w := held(ctx, h)
			Expect(w.status(ctx).Message).To(Equal(w.inWords(h.message)))
			writes := w.faults.lasting()
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
			_, err := w.reconcile(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(w.status(ctx).Message).NotTo(ContainSubstring("longer"))
			Expect(w.faults.lasting()).To(Equal(writes), "waiting writes nothing")
			h.lift(ctx, w)
			w.drive(ctx, nil)
			Expect(w.marks(ctx)).To(Equal(clean))
			Expect(w.faults.triggers).To(HaveLen(1))
		})
	})

	It("says when it waits for longer than it should", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		attachVolume(ctx, w)
		w.drive(ctx, nil)
		w.clock.SetTime(w.clock.Now().Add(31 * time.Minute))
		w.rest(ctx)
		Expect(w.status(ctx).Message).To(ContainSubstring("pv-1 (for longer than 30m0s): see kubectl describe volumeattachments"))
	})

	It("goes on when a person approves it", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.drive(ctx, nil)
		Expect(w.marks(ctx).Paused).To(Equal("ours"))
		Expect(w.marks(ctx).Slots).To(BeZero())
		change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) { u.Spec.Approved = true })
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	It("is held up by a pause that a person has set, whatever the strategy", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.changeNode(ctx, func(node *corev1.Node) {
			node.Annotations = map[string]string{infrav1.NodeUpgradePauseAnnotation: "lunch"}
		})
		w.drive(ctx, nil)
		Expect(w.status(ctx).Position()).To(Equal("Approve (3/14)"))
		Expect(w.marks(ctx).Paused).To(Equal("lunch"))
	})

	It("is paused once, also where a person has paused it before", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.changeNode(ctx, func(node *corev1.Node) {
			node.Annotations = map[string]string{infrav1.NodeUpgradePauseAnnotation: "lunch"}
		})
		w.drive(ctx, nil)
		Expect(w.status(ctx).Position()).To(Equal("Approve (3/14)"))
		w.changeNode(ctx, func(node *corev1.Node) { delete(node.Annotations, infrav1.NodeUpgradePauseAnnotation) })
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	It("leaves a Node alone that a person has cordoned", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.changeNode(ctx, func(node *corev1.Node) { node.Spec.Unschedulable = true })
		w.drive(ctx, nil)
		Expect(w.status(ctx).Message).To(Equal("Node/" + w.host + ": was cordoned by someone else and is left alone: kubectl uncordon it to let its upgrade start"))
		Expect(w.marks(ctx)).To(Equal(marks{Phase: infrav1.UpgradeProgressing, Unschedulable: true, Asked: true, Pin: newDigest, OS: oldDigest}),
			"its host has fetched the image")

		By("going ahead when the check is waived, and not uncordoning in the end")
		change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) {
			u.Spec.SkipPreflight = []infrav1.PreflightCheck{"NodeSchedulable"}
		})
		w.drive(ctx, nil)
		expected := clean
		expected.Unschedulable = true
		Expect(w.marks(ctx)).To(Equal(expected))
	})

	It("waits while the workload cluster does not answer", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.connector.unreachable = true
		w.drive(ctx, nil)
		Expect(w.status(ctx).Message).To(HavePrefix("cannot reach workload cluster edge: "))
		w.connector.unreachable = false
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	It("disturbs nothing where the host runs the image already", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.pin(ctx, newDigest)
		host := get(ctx, w, w.host, &infrav1.ElementalHost{})
		host.Status.OS.ImageURI, host.Status.OS.Digest = newImage, newDigest
		Expect(live.Status().Update(ctx, host)).To(Succeed())
		addPod(ctx, w, "web")
		w.drive(ctx, nil)
		expected := clean
		expected.Label = ""
		Expect(w.marks(ctx)).To(Equal(expected))
		Expect(w.faults.triggers).To(BeEmpty())
		Expect(get(ctx, w, "web", &corev1.Pod{})).NotTo(BeNil())
	})

	It("takes away a trigger that a person had set, before it asks the host to prepare", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		change(ctx, w, w.host, &infrav1.ElementalHost{}, func(host *infrav1.ElementalHost) {
			host.Labels = map[string]string{
				infrav1.InPlaceUpgradeLabel: infrav1.InPlaceUpgradePending, infrav1.InPlaceUpdateLabel: infrav1.InPlaceUpgradePending,
			}
		})
		w.rest(ctx)
		host := get(ctx, w, w.host, &infrav1.ElementalHost{})
		Expect(host.Spec.Upgrade).NotTo(BeNil())
		Expect(host.Labels).To(BeEmpty())
	})

	It("does nothing while its Cluster is paused", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		change(ctx, w, clusterName, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) { c.Spec.Paused = new(true) })
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(marks{OS: oldDigest}))
	})
})
