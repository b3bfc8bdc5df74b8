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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

var _ = Describe("A Machine whose node is out of service", func() {
	// disrupting is status and reason of that condition; empty where there is none.
	disrupting := func(ctx context.Context, w *world) string {
		GinkgoHelper()
		condition := conditions.Get(get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}), infrav1.UpgradeDisruptingCondition)
		if condition == nil {
			return ""
		}
		return string(condition.Status) + "/" + condition.Reason
	}
	const (
		is   = "True/" + infrav1.UpgradeDisruptingReason
		not  = "False/" + infrav1.UpgradeNotDisruptingReason
		left = "False/" + infrav1.UpgradeLeftToHealthChecksReason
	)
	// removeMark does what the controller of ElementalMachines does with a Machine that is released.
	removeMark := func(ctx context.Context, w *world) {
		GinkgoHelper()
		change(ctx, w, w.host, &clusterv1.Machine{}, func(machine *clusterv1.Machine) { machine.Annotations = nil })
	}
	// leave lets pass as long as a reboot may take, after which the Machine is left to its health checks.
	leave := func(ctx context.Context, w *world) {
		GinkgoHelper()
		w.clock.SetTime(w.clock.Now().Add(30 * time.Minute))
		w.rest(ctx)
		Expect(disrupting(ctx, w)).To(Equal(left))
	}
	atDrain := func(ctx context.Context) *world {
		GinkgoHelper()
		w := held(ctx, holds()[4])
		Expect(w.status(ctx).Step).To(Equal("Drain"))
		return w
	}

	It("is kept from its health checks before the node is cordoned, until it is uncordoned", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		protected := false
		once[*corev1.Node](w, func(ctx context.Context) { protected = w.marks(ctx).SkipRemediation })
		w.drive(ctx, func() bool { return w.status(ctx).Step == "Reboot" })
		Expect(protected).To(BeTrue(), "before the first write to the Node")
		Expect(disrupting(ctx, w)).To(Equal(is))
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(disrupting(ctx, w)).To(Equal(not))
	})

	It("is left to its health checks when its host is lost, and taken from them when that returns", func(ctx SpecContext) {
		w := lose(ctx, "HostLost")
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeHostLost))
		Expect(disrupting(ctx, w)).To(Equal(is))
		removeMark(ctx, w)
		w.drive(ctx, nil)
		Expect(w.marks(ctx).SkippedBy).To(BeEmpty())

		w.agent.stopAt = infrav1.HostUpgradeAssessing
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeProgressing))
		Expect(w.marks(ctx).SkippedBy).To(Equal("ours"))
		w.agent.stopAt = ""
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	It("is not marked while its owner is to remediate it, until its health check has withdrawn that", func(ctx SpecContext) {
		w := lose(ctx, "HostLost")
		removeMark(ctx, w)
		verdict := func(status metav1.ConditionStatus) {
			GinkgoHelper()
			machine := get(ctx, w, w.host, &clusterv1.Machine{})
			for _, of := range []string{clusterv1.MachineHealthCheckSucceededCondition, clusterv1.MachineOwnerRemediatedCondition} {
				conditions.Set(machine, metav1.Condition{Type: of, Status: status, Reason: "R"})
			}
			Expect(live.Status().Update(ctx, machine)).To(Succeed())
		}
		verdict(metav1.ConditionFalse)
		w.agent.stopAt = infrav1.HostUpgradeAssessing
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeProgressing))
		Expect(w.marks(ctx).SkippedBy).To(BeEmpty())
		verdict(metav1.ConditionTrue)
		w.rest(ctx)
		Expect(w.marks(ctx).SkippedBy).To(Equal("ours"))
	})

	It("is left to them when its node dies before the trigger, and taken from them before the node is found out of service again", func(ctx SpecContext) {
		w := atDrain(ctx)
		setNode(ctx, w.host, "boot-1", corev1.ConditionUnknown, w.clock.Now())
		w.rest(ctx)
		Expect(disrupting(ctx, w)).To(Equal(is))
		leave(ctx, w)
		removeMark(ctx, w)
		w.rest(ctx)
		Expect(disrupting(ctx, w)).To(Equal(left))

		setNode(ctx, w.host, "boot-1", corev1.ConditionTrue, w.clock.Now())
		unstored := ""
		once[*clusterv1.Machine](w, func(ctx context.Context) { unstored = disrupting(ctx, w) })
		w.rest(ctx)
		Expect(unstored).To(HavePrefix("Unknown/"), "stored before the mark is set")
		Expect(disrupting(ctx, w)).To(Equal(is))
		Expect(w.marks(ctx).SkippedBy).To(Equal("ours"))
	})

	It("is protected again when a user has removed the mark", func(ctx SpecContext) {
		w := atDrain(ctx)
		removeMark(ctx, w)
		w.rest(ctx)
		Expect(w.marks(ctx).SkippedBy).To(Equal("ours"))
	})

	It("serves when a user has uncordoned its node, and something else holds its attempt", func(ctx SpecContext) {
		w := atDrain(ctx)
		w.changeNode(ctx, func(node *corev1.Node) {
			node.Spec.Unschedulable = false
			node.Annotations[infrav1.NodeUpgradePauseAnnotation] = "lunch"
		})
		w.rest(ctx)
		Expect(w.status(ctx).Step).To(Equal("Approve"))
		Expect(disrupting(ctx, w)).To(Equal(not))
	})

	It("is reported again where a move has lost the status", func(ctx SpecContext) {
		w := held(ctx, holds()[10])
		Expect(w.status(ctx).Step).To(Equal("Assess"))
		w.answer(ctx, w.depart(ctx, nil))
		w.rest(ctx)
		Expect(disrupting(ctx, w)).To(Equal(is))
	})

	It("is taken from its health checks when the kubelet answers after the boot, also while the Node is not Ready", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.agent.down = true
		w.drive(ctx, func() bool { return hoststate.Ended(w.agent.marker.Phase) })
		bootID := get(ctx, w, w.host, &infrav1.ElementalHost{}).Status.OS.BootID
		setNode(ctx, w.host, bootID, corev1.ConditionUnknown, w.clock.Now())
		w.rest(ctx)
		leave(ctx, w)
		removeMark(ctx, w)
		setNode(ctx, w.host, bootID, corev1.ConditionFalse, w.clock.Now())
		w.rest(ctx)
		Expect(disrupting(ctx, w)).To(Equal(is))
		Expect(w.marks(ctx).SkippedBy).To(Equal("ours"))
	})

	It("is left to its health checks when no kubelet registers the Node again after the boot, and taken from them when one does", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.agent.down = true
		w.drive(ctx, func() bool { return hoststate.Ended(w.agent.marker.Phase) })
		node := &corev1.Node{}
		Expect(live.Get(ctx, client.ObjectKey{Name: w.host}, node)).To(Succeed())
		Expect(live.Delete(ctx, node.DeepCopy())).To(Succeed())
		w.rest(ctx)
		Expect(disrupting(ctx, w)).To(Equal(is))
		leave(ctx, w)

		removeMark(ctx, w)
		node.ResourceVersion, node.UID = "", ""
		Expect(live.Create(ctx, node.DeepCopy())).To(Succeed())
		setNode(ctx, w.host, get(ctx, w, w.host, &infrav1.ElementalHost{}).Status.OS.BootID, corev1.ConditionFalse, w.clock.Now())
		w.rest(ctx)
		Expect(disrupting(ctx, w)).To(Equal(is))
		Expect(w.marks(ctx).SkippedBy).To(Equal("ours"))
	})

	It("is not marked again when its ElementalMachine is deleted, with which what removes the mark goes", func(ctx SpecContext) {
		w := held(ctx, holds()[10])
		Expect(w.status(ctx).Step).To(Equal("Assess"))
		change(ctx, w, w.host, &infrav1.ElementalHost{}, func(host *infrav1.ElementalHost) {
			metav1.SetMetaDataLabel(&host.ObjectMeta, infrav1.NeedsResetLabel, "true")
			host.Spec.BootstrapSecret = nil
		})
		removeMark(ctx, w)
		Expect(live.Delete(ctx, get(ctx, w, w.host, &infrav1.ElementalMachine{}))).To(Succeed())
		w.rest(ctx)
		Expect(get(ctx, w, w.host, &clusterv1.Machine{}).Annotations).To(BeEmpty())
	})

	It("is out of service where a user had cordoned its node before, which writes nothing while it waits", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		guardPod(ctx, w)
		w.changeNode(ctx, func(node *corev1.Node) { node.Spec.Unschedulable = true })
		change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) {
			u.Spec.SkipPreflight = []infrav1.PreflightCheck{"NodeSchedulable"}
		})
		w.drive(ctx, nil)
		Expect(w.status(ctx).Step).To(Equal("Drain"))
		Expect(disrupting(ctx, w)).To(Equal(is))
		before := get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).ResourceVersion
		w.clock.SetTime(w.clock.Now().Add(time.Second))
		_, err := w.reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).ResourceVersion).To(Equal(before))
	})

	It("is not waited for when it is deleted", func(ctx SpecContext) {
		w := atDrain(ctx)
		w.deleteMachine(ctx)
		w.drive(ctx, nil)
		Expect(w.marks(ctx).Phase).To(Equal(infrav1.UpgradeAborted))
	})

	It("is released when it is kept cordoned after a roll-back", func(ctx SpecContext) {
		w := newWorld(ctx, keepCordoned)
		fallBack(ctx, w)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(And(HaveField("Phase", infrav1.UpgradeRolledBack), HaveField("CordonedBy", "ours"), HaveField("SkippedBy", "")))
		Expect(disrupting(ctx, w)).To(Equal(not))
	})

	It("is marked by the attempt that takes over from one that was removed by force", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		change(ctx, w, w.host, &clusterv1.Machine{}, func(machine *clusterv1.Machine) {
			machine.Annotations = map[string]string{clusterv1.MachineSkipRemediationAnnotation: "", infrav1.SkipRemediationByAnnotation: "gone/12345678"}
		})
		w.drive(ctx, func() bool { return w.status(ctx).Step == "Reboot" })
		Expect(w.marks(ctx).SkippedBy).To(Equal("ours"))
	})
})
