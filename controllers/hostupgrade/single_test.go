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
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

var _ = Describe("An upgrade of the only Node of a cluster", func() {
	// alone is a world without the other Node, whose Pod nobody may evict.
	alone := func(ctx context.Context) *world {
		GinkgoHelper()
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		Expect(live.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.otherNode()}})).To(Succeed())
		guardPod(ctx, w)
		return w
	}
	isMarked := func(ctx context.Context, w *world) bool {
		node := &corev1.Node{}
		Expect(live.Get(ctx, client.ObjectKey{Name: w.host}, node)).To(Succeed())
		Expect(node.Spec.Unschedulable).To(BeFalse(), "what was ended has nowhere else to run")
		_, marked := node.Annotations[infrav1.MarkedByAnnotation]
		return marked
	}

	It("marks it instead of a cordon, drains nothing, and leaves nothing behind", func(ctx SpecContext) {
		w := alone(ctx)
		w.drive(ctx, func() bool { return len(w.faults.triggers) > 0 })
		Expect(isMarked(ctx, w)).To(BeTrue())
		Expect(w.marks(ctx)).To(And(HaveField("Slots", 1), HaveField("BlockMove", true), HaveField("CordonedBy", "")))
		Expect(w.status(ctx).Preflight).To(ContainElement(HaveField("Message", HavePrefix("is the only Node of its cluster"))))
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(isMarked(ctx, w)).To(BeFalse())
		Expect(get(ctx, w, "web", &corev1.Pod{})).NotTo(BeNil())
	})

	It("takes the mark back after a rollback", func(ctx SpecContext) {
		w := alone(ctx)
		w.agent.fallsBack = true
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeRolledBack))
		Expect(isMarked(ctx, w)).To(BeFalse())
	})

	It("is not begun anew where the controller dies after the mark", func(ctx SpecContext) {
		w := alone(ctx)
		w.drive(ctx, func() bool { return isMarked(ctx, w) })
		w.restart()
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(w.agent.applied).To(HaveLen(1))
	})

	It("says that the management cluster goes away with it, where the manager's own Pod runs on it", func(ctx SpecContext) {
		const said = "this management cluster runs on it"
		w := alone(ctx)
		pod := get(ctx, w, "web", &corev1.Pod{})
		w.reconciler.Self = workload.Self{Key: client.ObjectKeyFromObject(pod), UID: "that of the same name elsewhere"}
		w.drive(ctx, w.isAt(ctx, "Reboot"))
		Expect(w.status(ctx).Message).NotTo(ContainSubstring(said))
		w.reconciler.Self.UID = pod.UID
		w.rest(ctx)
		Expect(w.status(ctx).Message).To(ContainSubstring(said))
	})

	It("is decided by the Nodes that exist: another one that is not Ready is one too", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		guardPod(ctx, w)
		setNode(ctx, w.otherNode(), "boot-other", corev1.ConditionFalse, began.Add(-time.Minute))
		w.drive(ctx, w.isAt(ctx, "Drain"))
		Expect(w.marks(ctx)).To(And(HaveField("Unschedulable", true), HaveField("CordonedBy", "ours")))
	})
})
