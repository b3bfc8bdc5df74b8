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

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// show does what the controller of ElementalMachines and Cluster API's of Machines do with an attempt that disrupts its node.
func (w *world) show(ctx context.Context, elemental, machine bool) {
	GinkgoHelper()
	status := func(is bool) metav1.ConditionStatus {
		if is {
			return metav1.ConditionTrue
		}
		return metav1.ConditionFalse
	}
	shown := get(ctx, w, w.host, &infrav1.ElementalMachine{})
	conditions.Set(shown, metav1.Condition{Type: infrav1.UpgradingCondition, Status: status(elemental), Reason: "R"})
	Expect(live.Status().Update(ctx, shown)).To(Succeed())
	mirrored := metav1.Condition{Type: clusterv1.InfrastructureReadyCondition, Status: status(!machine), Reason: clusterv1.ReadyReason}
	if machine {
		mirrored.Reason = infrav1.UpgradingReason
	}
	owner := get(ctx, w, w.host, &clusterv1.Machine{})
	conditions.Set(owner, mirrored)
	Expect(live.Status().Update(ctx, owner)).To(Succeed())
}

var _ = Describe("A Machine whose node is out of service", func() {
	disrupting := func(ctx context.Context, w *world) metav1.ConditionStatus {
		GinkgoHelper()
		condition := conditions.Get(get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}), infrav1.UpgradeDisruptingCondition)
		if condition == nil {
			return ""
		}
		return condition.Status
	}

	It("is kept from its health checks before the node is cordoned, and until nothing shows it any more", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		protected := false
		once[*corev1.Node](w, func(ctx context.Context) { protected = w.marks(ctx).SkipRemediation })
		w.drive(ctx, func() bool { return w.status(ctx).Step == "Reboot" })
		Expect(protected).To(BeTrue(), "before the first write to the Node")
		Expect(disrupting(ctx, w)).To(Equal(metav1.ConditionTrue))

		w.show(ctx, true, true)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(with(clean, func(m *marks) {
			m.Phase, m.SkipRemediation, m.SkippedBy, m.Asked, m.BlockMove = infrav1.UpgradeProgressing, true, "ours", true, true
		})), "the node serves, and the slot is free")
		Expect(disrupting(ctx, w)).To(Equal(metav1.ConditionFalse))
		Expect(w.status(ctx).Message).To(HavePrefix(w.inWords("waiting for Machine HOST to show that its infrastructure is not upgrading")))

		By("the Machine alone, as Cluster API may not have seen yet what it will show")
		w.show(ctx, true, false)
		w.drive(ctx, nil)
		Expect(w.marks(ctx).SkipRemediation).To(BeTrue())

		w.show(ctx, false, false)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	It("is left to its health checks at once when its host is lost", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.agent.stopAt = infrav1.HostUpgradeRebooting
		w.drive(ctx, nil)
		w.show(ctx, true, true)
		w.clock.SetTime(w.clock.Now().Add(30 * time.Minute))
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeHostLost))
		Expect(w.marks(ctx).SkipRemediation).To(BeFalse())
		Expect(disrupting(ctx, w)).To(Equal(metav1.ConditionTrue))
	})

	It("is not waited for when it is deleted", func(ctx SpecContext) {
		w := held(ctx, holds()[4]) // Drain
		w.show(ctx, true, true)
		w.deleteMachine(ctx)
		w.drive(ctx, nil)
		Expect(w.marks(ctx).Phase).To(Equal(infrav1.UpgradeAborted))
	})

	It("is marked by the attempt that takes over from one that was removed by force", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		change(ctx, w, w.host, &clusterv1.Machine{}, func(machine *clusterv1.Machine) {
			machine.Annotations = map[string]string{clusterv1.MachineSkipRemediationAnnotation: "", infrav1.SkipRemediationByAnnotation: "gone/12345678"}
		})
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})
})
