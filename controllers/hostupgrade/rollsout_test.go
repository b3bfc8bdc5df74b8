// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = Describe("An attempt, where the owner of the Machine rolls out another change,", func() {
	upToDate := func(ctx context.Context, w *world, status metav1.ConditionStatus) {
		GinkgoHelper()
		machine := get(ctx, w, w.host, &clusterv1.Machine{})
		conditions.Set(machine, metav1.Condition{Type: clusterv1.MachineUpToDateCondition, Status: status, Reason: "Test", Message: "Version v1, v2 required"})
		Expect(live.Status().Update(ctx, machine)).To(Succeed())
	}
	isCordoned := func(ctx context.Context, w *world) bool {
		node := &corev1.Node{}
		Expect(live.Get(ctx, client.ObjectKey{Name: w.host}, node)).To(Succeed())
		return node.Spec.Unschedulable
	}
	const says = "UpToDate is False: Version v1, v2 required. Revert that change, or set spec.cancel"

	It("takes no slot until that is over", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		upToDate(ctx, w, metav1.ConditionFalse)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Message).To(ContainSubstring(says))
		Expect(w.slots(ctx)).To(BeEmpty())
		Expect(isCordoned(ctx, w)).To(BeFalse())

		upToDate(ctx, w, metav1.ConditionTrue)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
	})

	It("does not trigger its host where that began while the node was drained", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		guardPod(ctx, w)
		w.drive(ctx, func() bool { return isCordoned(ctx, w) })
		upToDate(ctx, w, metav1.ConditionFalse)
		allowEviction(ctx, w)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Message).To(ContainSubstring("is not triggered: the owner of Machine " + w.host + " rolls out another change"))
		Expect(w.faults.triggers).To(BeEmpty())

		By("cancelling it")
		attempt := get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{})
		attempt.Spec.Cancel = true
		Expect(live.Update(ctx, attempt)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeAborted))
		Expect(isCordoned(ctx, w)).To(BeFalse())
	})

	It("goes on where Cluster API updates the Machine, which is not up to date then", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		upToDate(ctx, w, metav1.ConditionFalse)
		machine := get(ctx, w, w.host, &clusterv1.Machine{})
		machine.Annotations = map[string]string{clusterv1.UpdateInProgressAnnotation: ""}
		Expect(live.Update(ctx, machine)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
	})
})
