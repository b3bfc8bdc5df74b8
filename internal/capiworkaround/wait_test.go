// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

var _ = DescribeTable("What a control plane waits for", func(expected string, changes ...func(own *clusterv1.Machine, other *clusterv1.Machine)) {
	newMachine := func(name string) clusterv1.Machine {
		return clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: clusterv1.MachineStatus{
			Conditions: []metav1.Condition{{Type: "EtcdMemberHealthy", Status: metav1.ConditionTrue}},
		}}
	}
	all := []clusterv1.Machine{newMachine("m"), newMachine("other")}
	for _, change := range changes {
		change(&all[0], &all[1])
	}
	Expect(capiworkaround.DecideOnControlPlane(&all[0], all)).To(Equal(expected))
},
	Entry("all healthy", ""),
	Entry("of another kind of control plane", "", func(own, other *clusterv1.Machine) {
		own.Status, other.Status = clusterv1.MachineStatus{}, clusterv1.MachineStatus{}
	}),
	Entry("unhealthy itself", "waiting for condition EtcdMemberHealthy of control plane Machine m",
		func(own, _ *clusterv1.Machine) { own.Status.Conditions[0].Status = metav1.ConditionFalse }),
	Entry("one that KubeadmControlPlane would delete next",
		"waiting for condition EtcdMemberHealthy of control plane Machine other, which would be deleted otherwise: repair its node",
		func(_, other *clusterv1.Machine) { other.Status.Conditions[0].Status = metav1.ConditionUnknown }),
	Entry("one that is being deleted already", "", func(_, other *clusterv1.Machine) {
		other.Status.Conditions[0].Status = metav1.ConditionFalse
		other.DeletionTimestamp = &metav1.Time{Time: other.CreationTimestamp.Add(1)}
	}),
)

// unhealthyMachines are Machines of a control plane whose etcd is not known to be healthy, on Nodes that are Ready.
func unhealthyMachines(names ...string) []clusterv1.Machine {
	GinkgoHelper()
	kcp := ownertest.KubeadmControlPlane(plane.NewNamespace(ctx), "cp", "c", "t")
	plane.Create(ctx, kcp)
	machines := []clusterv1.Machine{}
	for _, name := range names {
		machine := ownertest.ControlPlaneMachine(kcp, name)
		machine.Labels[clusterv1.MachineControlPlaneLabel] = ""
		plane.Create(ctx, machine)
		fail(machine, "EtcdMemberHealthy", metav1.ConditionUnknown)
		fail(machine, clusterv1.MachineNodeReadyCondition, metav1.ConditionTrue)
		Expect(c.Status().Update(ctx, machine)).To(Succeed())
		machines = append(machines, *machine)
	}
	return machines
}

// lookedAt is the mark that has KubeadmControlPlane look at a Machine again.
func lookedAt(machine *clusterv1.Machine) string {
	GinkgoHelper()
	Expect(c.Get(ctx, client.ObjectKeyFromObject(machine), machine)).To(Succeed())
	return machine.Annotations[infrav1.HealthLookAnnotation]
}

var _ = It("WaitForControlPlane reads the control plane, and has it looked at", func() {
	machines, now := unhealthyMachines("a", "b"), time.Now()
	Expect(capiworkaround.WaitForControlPlane(ctx, c, c, now, &machines[1])).To(Equal("waiting for condition EtcdMemberHealthy of control plane Machine b"))
	Expect(lookedAt(&machines[0])).NotTo(BeEmpty())

	updated := machines[1].DeepCopy()
	fail(updated, "EtcdMemberHealthy", metav1.ConditionTrue)
	Expect(c.Status().Update(ctx, updated)).To(Succeed())
	Expect(capiworkaround.WaitForControlPlane(ctx, c, c, now, updated)).To(HavePrefix("waiting for condition EtcdMemberHealthy of control plane Machine a, which would be deleted"))
})

var _ = Describe("LookAgainAt", func() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

	It("waits 20 seconds in between", func() {
		machines := unhealthyMachines("m")
		look := func(at time.Time) string {
			GinkgoHelper()
			Expect(capiworkaround.LookAgainAt(ctx, c, at, machines)).To(Succeed())
			return lookedAt(&machines[0])
		}
		first := look(now)
		Expect(look(now.Add(20*time.Second - 1))).To(Equal(first))
		Expect(look(now.Add(20 * time.Second))).NotTo(Equal(first))
	})

	It("leaves out one that is being deleted", func() {
		machines := unhealthyMachines("m")
		leave(&machines[0])
		Expect(c.Get(ctx, client.ObjectKeyFromObject(&machines[0]), &machines[0])).To(Succeed())
		Expect(capiworkaround.LookAgainAt(ctx, c, now, machines)).To(Succeed())
		Expect(lookedAt(&machines[0])).To(BeEmpty())
	})

	It("passes by one that has gone meanwhile", func() {
		machines := unhealthyMachines("m")
		Expect(c.Delete(ctx, machines[0].DeepCopy())).To(Succeed())
		Expect(capiworkaround.LookAgainAt(ctx, c, now, machines)).To(Succeed())
	})
})
