// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/hostupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/metrics"
)

// reasonOf is the hold at a step of holds(); empty where the attempt makes progress there.
func reasonOf(h hold) infrav1.HoldReason {
	return map[string]infrav1.HoldReason{
		"Preflight (1/14)": infrav1.HoldHostNotReporting, "Approve (3/14)": infrav1.HoldNodePaused, "Admit (4/14)": infrav1.HoldNoSlot,
	}[h.position]
}

func holdsIn(ctx context.Context, w *world) []infrav1.UpgradeHold {
	GinkgoHelper()
	return get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).Status.Holds
}

func admitted(ctx context.Context, w *world) *metav1.Condition {
	GinkgoHelper()
	return conditions.Get(get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}), infrav1.UpgradeAdmittedCondition)
}

func beHeldBy(reason infrav1.HoldReason) OmegaMatcher {
	return HaveExactElements(SatisfyAll(HaveField("Reason", reason), HaveField("Who", reason.Who())))
}

var _ = Describe("What an attempt waits for is in its holds", func() {
	atEachHold(func(ctx context.Context, h hold) {
		w := held(ctx, h)
		reason, hasSlot := reasonOf(h), metav1.ConditionTrue
		if reason != "" {
			Expect(holdsIn(ctx, w)).To(beHeldBy(reason))
			Expect(holdsIn(ctx, w)[0].Message).To(Equal(w.status(ctx).Message))
		} else {
			Expect(holdsIn(ctx, w)).To(BeEmpty())
		}
		if w.status(ctx).StepIndex <= 4 {
			hasSlot = metav1.ConditionFalse
		}
		Expect(admitted(ctx, w)).To(HaveField("Status", hasSlot))
		if reason != "" {
			Expect(admitted(ctx, w)).To(HaveField("Reason", string(reason)))
		}

		h.lift(ctx, w)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
		Expect(holdsIn(ctx, w)).To(BeEmpty())
		Expect(admitted(ctx, w)).To(SatisfyAll(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", "Ended")))
	})

	It("with the time since which it is held, until it is held by something else", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.drive(ctx, nil)
		since := holdsIn(ctx, w)[0].Since
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) { u.Labels = map[string]string{"looked": "at"} })
		w.rest(ctx)
		Expect(holdsIn(ctx, w)).To(HaveExactElements(HaveField("Since", since)))

		paused(ctx, w)
		Expect(holdsIn(ctx, w)).To(HaveExactElements(HaveField("Reason", infrav1.HoldClusterPaused),
			SatisfyAll(HaveField("Reason", infrav1.HoldNodePaused), HaveField("Since", since))))
		Expect(holdsIn(ctx, w)[0].Since.After(since.Time)).To(BeTrue())
		pause(ctx, w, false)
		w.rest(ctx)
		Expect(holdsIn(ctx, w)).To(HaveExactElements(SatisfyAll(HaveField("Reason", infrav1.HoldNodePaused), HaveField("Since", since))))
	})

	It("with both pauses", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.drive(ctx, nil)
		change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) {
			u.Annotations[clusterv1.PausedAnnotation] = ""
		})
		paused(ctx, w)
		Expect(holdsIn(ctx, w)).To(HaveExactElements(HaveField("Reason", infrav1.HoldClusterPaused),
			HaveField("Reason", infrav1.HoldAttemptPaused), HaveField("Reason", infrav1.HoldNodePaused)))
	})

	It("also where another attempt takes the slot meanwhile", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		once[*infrav1.ElementalCluster](w, func(ctx context.Context) { takeSlot(ctx, w) })
		w.drive(ctx, nil)
		Expect(holdsIn(ctx, w)).To(beHeldBy(infrav1.HoldNoSlot))
		Expect(admitted(ctx, w)).To(SatisfyAll(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", "NoSlot")))
	})

	It("with each check that blocks", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		setUnschedulable(ctx, w, true)
		w.drive(ctx, nil)
		Expect(holdsIn(ctx, w)).To(HaveExactElements(SatisfyAll(
			HaveField("Reason", infrav1.HoldPreflightFailed), HaveField("Object", "Node/"+w.host))))
	})

	It("counted by Cluster and reason", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.drive(ctx, nil)
		counts, err := hostupgrade.Gauges()[0].CountPairs(ctx, client.NewNamespacedClient(live, w.namespace))
		Expect(err).NotTo(HaveOccurred())
		Expect(counts).To(Equal(map[metrics.LabelPair]int{{Extra: w.namespace + "/" + clusterName, Value: "NodePaused"}: 1}))
	})

	It("where its host is lost, which has a slot", func(ctx SpecContext) {
		s := scenarios["HostLost"]
		w := newWorld(ctx, s.options)
		if s.prepare != nil {
			s.prepare(ctx, w)
		}
		s.play(ctx, w)
		Expect(holdsIn(ctx, w)).To(beHeldBy(infrav1.HoldHostLost))
		Expect(admitted(ctx, w)).To(HaveField("Status", metav1.ConditionTrue))

		paused(ctx, w)
		Expect(holdsIn(ctx, w)).To(HaveExactElements(HaveField("Reason", infrav1.HoldClusterPaused), HaveField("Reason", infrav1.HoldHostLost)))
		pause(ctx, w, false)
		w.rest(ctx)
		Expect(holdsIn(ctx, w)).To(beHeldBy(infrav1.HoldHostLost))
		change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) { u.Spec.Release = true })
		w.rest(ctx)
		Expect(holdsIn(ctx, w)).To(beHeldBy(infrav1.HoldHostLost))
		Expect(admitted(ctx, w)).To(SatisfyAll(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", "HostLost")))
	})
})

// paused is a world whose Cluster is paused, and whose attempt has seen it.
func paused(ctx context.Context, w *world) {
	GinkgoHelper()
	pause(ctx, w, true)
	for range 2 { // the first one writes the condition
		_, err := w.reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
	}
}

func setUnschedulable(ctx context.Context, w *world, to bool) {
	GinkgoHelper()
	w.changeNode(ctx, func(node *corev1.Node) { node.Spec.Unschedulable = to })
}
