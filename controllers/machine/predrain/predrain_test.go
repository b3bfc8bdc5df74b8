// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predrain_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

var _ = Describe("The hook of a Machine", func() {
	It("comes with KubeVirt, and goes with it", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.guests.present = false
		Expect(w.reconcile(ctx).RequeueAfter).To(BeZero(), "a cluster without KubeVirt costs nothing")
		Expect(w.hooked(ctx)).To(BeFalse())
		w.guests.present = true
		Expect(w.reconcile(ctx).RequeueAfter).To(Equal(10 * time.Minute))
		Expect(w.hooked(ctx)).To(BeTrue())
		w.guests.present = false
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeFalse())
		Expect(w.guests.asked).To(BeEmpty(), "nobody is evacuated from a Machine that stays")
	})

	It("comes back with a KubeVirt that is installed again", func(ctx SpecContext) {
		w := newWorld(ctx)
		node := w.node(ctx)
		node.Labels = map[string]string{kubevirt.SchedulableLabel: "true"}
		Expect(live.Update(ctx, node)).To(Succeed())
		w.guests.present = false
		Expect(w.reconcile(ctx).RequeueAfter).To(Equal(10*time.Minute), "the Node still has the label, and may never change")
		Expect(w.hooked(ctx)).To(BeFalse())
		w.guests.present = true
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeTrue())
	})

	It("stays as it is while the workload cluster does not answer", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.reconcile(ctx)
		w.guests.present, w.connector.cut = false, true
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeTrue())
	})

	It("comes soon where the workload cluster is connected and fails, which is no event when it is over", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.connector.fails = true
		Expect(w.reconcile(ctx).RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", time.Minute)))
		Expect(w.hooked(ctx)).To(BeFalse())
		w.connector.fails = false
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeTrue())
	})

	It("is not for Machines of other infrastructure", func(ctx SpecContext) {
		w := newWorld(ctx, func(m *clusterv1.Machine) { m.Spec.InfrastructureRef.Kind = "OtherMachine" })
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeFalse())
	})

	It("is not put on a Machine that is being deleted already", func(ctx SpecContext) {
		w := newWorld(ctx)
		Expect(live.Delete(ctx, get(ctx, w, "m", &clusterv1.Machine{}))).To(Succeed())
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeFalse())
		Expect(w.guests.asked).To(BeEmpty())
	})

	It("is nobody's business whose ElementalMachines carry another filter", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.reconciler.WatchFilterValue = "mine"
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeFalse())
	})

	It("is left alone while the Machine is paused", func(ctx SpecContext) {
		w := deleted(ctx, func(m *clusterv1.Machine) { m.Annotations = map[string]string{"keep": "me"} })
		machine := get(ctx, w, "m", &clusterv1.Machine{})
		machine.Annotations[clusterv1.PausedAnnotation] = ""
		Expect(live.Update(ctx, machine)).To(Succeed())
		w.reconcile(ctx)
		Expect(w.guests.asked).To(BeEmpty())
	})
})

var _ = Describe("A Machine that is being deleted", func() {
	It("waits for its virtual machines, says so, and starts elsewhere what was stopped", func(ctx SpecContext) {
		w := deleted(ctx)
		Expect(w.reconcile(ctx).RequeueAfter).To(Equal(time.Second))
		Expect(w.says(ctx)).To(Equal("EvacuatingVirtualMachines: moving virtual machines"))
		Expect(w.node(ctx).Spec.Unschedulable).To(BeTrue())
		Expect(w.guests.policy).To(Equal(infrav1.VMPolicyShutdownAndRestore), "the cluster's")

		w.guests.held = "VirtualMachineInstance default/vm cannot be migrated"
		w.reconcile(ctx)
		Expect(w.says(ctx)).To(Equal("EvacuationHeld: VirtualMachineInstance default/vm cannot be migrated"))
		Expect(w.hooked(ctx)).To(BeTrue())

		w.guests.running, w.guests.held, w.guests.stopped = 0, "", 1
		w.reconcile(ctx)
		Expect(w.says(ctx)).To(Equal("EvacuatingVirtualMachines: starting virtual machines"))
		Expect(w.hooked(ctx)).To(BeTrue())

		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeFalse())
		Expect(w.says(ctx)).To(BeEmpty())
		Expect(w.guests.attempts).To(HaveLen(1))
		Expect(w.lastEvent()).To(ContainSubstring("No virtual machine is left"))
		w.guests.asked = nil
		w.reconcile(ctx)
		Expect(w.guests.asked).To(BeEmpty())
	})

	It("waits while the workload cluster does not answer, but not for ever", func(ctx SpecContext) {
		w := deleted(ctx)
		w.connector.cut = true
		w.reconcile(ctx)
		Expect(w.says(ctx)).To(HavePrefix("EvacuatingVirtualMachines: cannot reach workload cluster edge: "))
		w.clock.SetTime(w.clock.Now().Add(infrav1.DefaultRebootTimeout + time.Minute))
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeFalse())
	})

	DescribeTable("waits for such a cluster as long, whatever the clock of the management cluster says", func(ctx SpecContext, ahead time.Duration) {
		w := deleted(ctx)
		w.connector.cut = true
		w.clock.SetTime(w.clock.Now().Add(-ahead))
		w.reconcile(ctx)
		w.clock.SetTime(w.clock.Now().Add(infrav1.DefaultRebootTimeout - time.Second))
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeTrue())
		w.clock.SetTime(w.clock.Now().Add(time.Second))
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeFalse())
	},
		Entry("5 min behind", -5*time.Minute), Entry("1 min behind", -time.Minute), Entry("the same", time.Duration(0)),
		Entry("1 min ahead", time.Minute), Entry("8 h ahead", 8*time.Hour),
	)

	It("waits for such a cluster as long as it may be drained", func(ctx SpecContext) {
		w := deleted(ctx, func(m *clusterv1.Machine) { m.Spec.Deletion.NodeDrainTimeoutSeconds = new(int32(7200)) })
		w.connector.cut = true
		w.clock.SetTime(w.clock.Now().Add(infrav1.DefaultRebootTimeout + time.Minute))
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeTrue())
		w.clock.SetTime(w.clock.Now().Add(2 * time.Hour))
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeFalse())
	})

	DescribeTable("is tried again where the workload cluster fails", func(ctx SpecContext, fails func(*guests, bool)) {
		w := deleted(ctx)
		w.guests.running, w.guests.stopped = 0, 1
		fails(w.guests, true)
		for range 3 {
			Expect(w.reconcile(ctx).RequeueAfter).To(Equal(5*time.Second), "again and again, with no longer and longer waits")
			Expect(w.hooked(ctx)).To(BeTrue())
		}
		Expect(w.says(ctx)).To(HavePrefix("EvacuatingVirtualMachines: cannot reach workload cluster edge: "))
		fails(w.guests, false)
		for range 2 {
			w.reconcile(ctx)
		}
		Expect(w.guests.stopped).To(BeZero())
		Expect(w.hooked(ctx)).To(BeFalse())
	},
		Entry("to say what is there", func(g *guests, fails bool) { g.lookFails = fails }),
		Entry("to move what is there", func(g *guests, fails bool) { g.evacuationFails = fails }),
		Entry("to start again what was stopped", func(g *guests, fails bool) { g.restoreFails = fails }),
	)

	It("is tried again where the node has gone and the workload cluster fails, but not for ever", func(ctx SpecContext) {
		w := deleted(ctx)
		w.guests.stopped, w.guests.restoreFails = 1, true
		Expect(live.Delete(ctx, w.node(ctx))).To(Succeed())
		Expect(w.reconcile(ctx).RequeueAfter).To(Equal(5 * time.Second))
		Expect(w.hooked(ctx)).To(BeTrue())
		w.guests.restoreFails = false
		w.reconcile(ctx)
		Expect(w.guests.stopped).To(BeZero())
		Expect(w.hooked(ctx)).To(BeTrue())
		w.guests.restoreFails = true
		w.clock.SetTime(w.clock.Now().Add(infrav1.DefaultRebootTimeout + time.Minute))
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeFalse())
		Expect(w.lastEvent()).To(ContainSubstring("may still be off"))
	})

	It("has no virtual machines where KubeVirt was uninstalled", func(ctx SpecContext) {
		w := deleted(ctx)
		w.guests.present = false
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeFalse())
	})

	It("has its virtual machines evacuated although its ElementalMachine has gone", func(ctx SpecContext) {
		w := deleted(ctx)
		Expect(live.Delete(ctx, get(ctx, w, "m", &infrav1.ElementalMachine{}))).To(Succeed())
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeTrue())
		w.guests.running = 0
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeFalse())
	})

	drainTimeout := func(m *clusterv1.Machine) { m.Spec.Deletion.NodeDrainTimeoutSeconds = new(int32(600)) }
	DescribeTable("does not wait", func(ctx SpecContext, happens func(context.Context, *world), why string) {
		w := deleted(ctx, drainTimeout)
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeTrue())
		happens(ctx, w)
		w.guests.stopped = 1
		for range 2 { // the first may have what was stopped to start elsewhere
			w.reconcile(ctx)
		}
		Expect(w.hooked(ctx)).To(BeFalse())
		Expect(w.says(ctx)).To(BeEmpty())
		Expect(w.lastEvent()).To(ContainSubstring(why))
	},
		Entry("for a node that is dead", func(ctx context.Context, w *world) { w.setReady(ctx, corev1.ConditionUnknown) }, "does not answer"),
		Entry("for a node that is gone", func(ctx context.Context, w *world) { Expect(live.Delete(ctx, w.node(ctx))).To(Succeed()) }, "is gone"),
		Entry("after its nodeDrainTimeout", func(_ context.Context, w *world) { w.clock.SetTime(w.clock.Now().Add(11 * time.Minute)) }, "nodeDrainTimeoutSeconds"),
		Entry("when its Cluster goes", func(ctx context.Context, w *world) {
			Expect(live.Delete(ctx, get(ctx, w, "edge", &clusterv1.Cluster{}))).To(Succeed())
		}, "Cluster is being deleted"),
		Entry("where draining is excluded", func(ctx context.Context, w *world) {
			machine := get(ctx, w, "m", &clusterv1.Machine{})
			machine.Annotations[clusterv1.ExcludeNodeDrainingAnnotation] = ""
			Expect(live.Update(ctx, machine)).To(Succeed())
		}, "excluded"),
	)

	It("starts elsewhere what was stopped, where it does not wait any more", func(ctx SpecContext) {
		w := deleted(ctx)
		w.guests.stopped = 1
		w.setReady(ctx, corev1.ConditionUnknown)
		w.reconcile(ctx)
		Expect(w.guests.asked).To(Equal([]string{"restore"}))
		Expect(w.hooked(ctx)).To(BeTrue())
		w.reconcile(ctx)
		Expect(w.guests.stopped).To(BeZero())
		Expect(w.hooked(ctx)).To(BeFalse())
	})

	It("is not kept by a KubeVirt that is as dead as its node", func(ctx SpecContext) {
		w := deleted(ctx)
		w.guests.restoreFails = true
		w.setReady(ctx, corev1.ConditionUnknown)
		w.reconcile(ctx)
		Expect(w.hooked(ctx)).To(BeFalse())
	})
})
