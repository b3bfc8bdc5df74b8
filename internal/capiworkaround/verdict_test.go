// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround_test

import (
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// rollingOut is a MachineDeployment "md" of three in the middle of going from template "old" to "bad",
// with one Machine "m" on "bad".
type rollingOut struct {
	md       *clusterv1.MachineDeployment
	old, bad *clusterv1.MachineSet
	machine  *clusterv1.Machine
}

func newRollingOut() *rollingOut {
	GinkgoHelper()
	namespace := plane.NewNamespace(ctx)
	r := &rollingOut{md: ownertest.MachineDeployment(namespace, "md", "c", "bad", 3)}
	plane.Create(ctx, r.md)
	r.old, r.bad = ownertest.MachineSet(r.md, "ms-old", "old", 2), ownertest.MachineSet(r.md, "ms-bad", "bad", 1)
	plane.Create(ctx, r.old, r.bad)
	r.machine = ownertest.Machine(r.bad, "m")
	plane.Create(ctx, r.machine)
	ownertest.Observe(ctx, c, r.md, 3)
	ownertest.Observe(ctx, c, r.old, 2)
	ownertest.Observe(ctx, c, r.bad, 1)
	return r
}

const (
	atOnce    = time.Second
	longAfter = time.Hour
)

func judge(owners *owner.Owners, of owner.Owner) capiworkaround.Verdict {
	GinkgoHelper()
	verdict, err := capiworkaround.Judge(ctx, owners, of)
	Expect(err).NotTo(HaveOccurred())
	return verdict
}

func notQuiet(owners *owner.Owners, of owner.Owner) string {
	GinkgoHelper()
	return judge(owners, of).NotQuiet
}

func between(owners *owner.Owners, of owner.Owner) string {
	GinkgoHelper()
	return judge(owners, of).Between
}

func returnTo(owners *owner.Owners, of owner.Owner, template string) string {
	GinkgoHelper()
	return judge(owners, of).ReturnTo(template)
}

var _ = Describe("A quiet point of a MachineDeployment", func() {
	It("comes when nothing was written for a while to any of its objects, however many there are", func() {
		r := newRollingOut()
		now := clocktesting.NewFakePassiveClock(time.Now())
		owners := &owner.Owners{Client: c, Live: c, Clock: now}
		Expect(between(owners, owner.ForMachineDeployment(r.md))).To(ContainSubstring("Cluster API is about to take the next Machine"))
		now.SetTime(now.Now().Add(time.Minute))
		Expect(between(owners, owner.ForMachineDeployment(r.md))).To(BeEmpty())
	})

	DescribeTable("by what Cluster API has under way",
		func(disturb func(*rollingOut), when time.Duration, reason string) {
			r := newRollingOut()
			disturb(r)
			Expect(notQuiet(ownersAt(when), owner.ForMachineDeployment(r.md))).To(Equal(reason))
		},
		Entry("nothing", func(*rollingOut) {}, atOnce, ""),
		Entry("a Machine being updated", func(r *rollingOut) { annotate(r.machine, clusterv1.UpdateInProgressAnnotation, "") }, atOnce, ""),
		Entry("a Machine that was just moved", func(r *rollingOut) { annotate(r.machine, clusterv1.PendingAcknowledgeMoveAnnotation, "") }, longAfter,
			"Machine m is being moved to another MachineSet"),
		Entry("a MachineSet with a Machine too many", func(r *rollingOut) { scale(r.bad, 0); ownertest.Observe(ctx, c, r.bad, 1) }, longAfter,
			"MachineSet ms-bad has 1 Machines and is to have 0"),
		Entry("a MachineSet whose Machine too many is being deleted, however long that takes", func(r *rollingOut) {
			scale(r.bad, 0)
			ownertest.Observe(ctx, c, r.bad, 1)
			leave(r.machine)
		}, longAfter, ""),
		Entry("a MachineSet with one Machine too many beside one that is being deleted", func(r *rollingOut) {
			other := ownertest.Machine(r.bad, "other")
			plane.Create(ctx, other)
			scale(r.bad, 0)
			ownertest.Observe(ctx, c, r.bad, 2)
			leave(other)
		}, longAfter, "MachineSet ms-bad has 1 Machines and is to have 0"),
		Entry("a MachineSet whose status does not count a Machine yet", func(r *rollingOut) { plane.Create(ctx, ownertest.Machine(r.bad, "other")) }, longAfter,
			"MachineSet ms-bad has 2 Machines and is to have 1"),
		Entry("a Machine that was moved and is being deleted", func(r *rollingOut) {
			annotate(r.machine, clusterv1.PendingAcknowledgeMoveAnnotation, "")
			leave(r.machine)
		}, longAfter, ""),
		Entry("a MachineSet that grows", func(r *rollingOut) { scale(r.old, 3); ownertest.Observe(ctx, c, r.old, 2) }, atOnce,
			"MachineSet ms-old is growing to 3 Machines"),
		Entry("a MachineSet that cannot grow", func(r *rollingOut) { scale(r.old, 3); ownertest.Observe(ctx, c, r.old, 2) }, longAfter, ""),
		Entry("a MachineSet that was changed", func(r *rollingOut) {
			r.old.Spec.Deletion.Order = clusterv1.OldestMachineSetDeletionOrder
			Expect(c.Update(ctx, r.old)).To(Succeed())
		}, atOnce, "MachineSet ms-old was changed and has not been acted on yet"),
		Entry("a MachineSet that was applied after it was updated, whichever the API server names last", func(r *rollingOut) {
			r.old.Spec.Deletion.Order = clusterv1.OldestMachineSetDeletionOrder
			Expect(c.Update(ctx, r.old)).To(Succeed())
			r.old.ManagedFields = append(r.old.ManagedFields, metav1.ManagedFieldsEntry{
				Manager: "gitops", Operation: metav1.ManagedFieldsOperationApply, APIVersion: clusterv1.GroupVersion.String(),
				Time: ptr.To(metav1.NewTime(time.Now().Add(longAfter))), FieldsType: "FieldsV1",
				FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:deletion":{"f:order":{}}}}`)},
			})
			Expect(c.Update(ctx, r.old)).To(Succeed())
		}, longAfter, "MachineSet ms-old was changed and has not been acted on yet"),
		Entry("a MachineSet whose change Cluster API cannot act on", func(r *rollingOut) {
			r.old.Spec.Deletion.Order = clusterv1.OldestMachineSetDeletionOrder
			Expect(c.Update(ctx, r.old)).To(Succeed())
		}, longAfter, ""),
		Entry("a change of its own", func(r *rollingOut) {
			r.md.Spec.Template.Spec.Version = "v1.37.0"
			Expect(c.Update(ctx, r.md)).To(Succeed())
		}, atOnce,
			"MachineDeployment md was changed and has not been acted on yet"),
		Entry("a change of its own that Cluster API cannot act on", func(r *rollingOut) {
			r.md.Spec.Template.Spec.Version = "v1.37.0"
			Expect(c.Update(ctx, r.md)).To(Succeed())
		}, longAfter, ""),
	)

	It("waits for what was written less than half a minute ago", func() {
		r := newRollingOut()
		r.md.Spec.Template.Spec.Version = "v1.37.0"
		Expect(c.Update(ctx, r.md)).To(Succeed())
		last := r.md.CreationTimestamp.Time
		for _, entry := range r.md.ManagedFields {
			last = slices.MaxFunc([]time.Time{last, entry.Time.Time}, time.Time.Compare)
		}
		owners := ownersAt(0)
		owners.Clock = clocktesting.NewFakePassiveClock(last)
		Expect(notQuiet(owners, owner.ForMachineDeployment(r.md))).NotTo(BeEmpty())
		owners.Clock = clocktesting.NewFakePassiveClock(last.Add(30*time.Second - 1))
		Expect(notQuiet(owners, owner.ForMachineDeployment(r.md))).NotTo(BeEmpty())
		owners.Clock = clocktesting.NewFakePassiveClock(last.Add(30 * time.Second))
		Expect(notQuiet(owners, owner.ForMachineDeployment(r.md))).To(BeEmpty())
	})

	DescribeTable("that was changed is waited for, whatever the clock of the API server says", func(ahead time.Duration) {
		r := newRollingOut()
		r.md.Spec.Template.Spec.Version = "v1.37.0"
		Expect(c.Update(ctx, r.md)).To(Succeed())
		owners := ownersAt(-ahead)
		first := owners.Clock.Now()
		for _, passed := range []time.Duration{0, 29 * time.Second} {
			owners.Clock = clocktesting.NewFakePassiveClock(first.Add(passed))
			Expect(notQuiet(owners, owner.ForMachineDeployment(r.md))).To(Equal("MachineDeployment md was changed and has not been acted on yet"))
		}
		owners.Clock = clocktesting.NewFakePassiveClock(first.Add(30 * time.Second))
		Expect(notQuiet(owners, owner.ForMachineDeployment(r.md))).To(BeEmpty())
	}, skews)

	It("reads live, not what it is given", func() {
		r := newRollingOut()
		stale := r.md.DeepCopy()
		r.md.Spec.Template.Spec.Version = "v1.37.0"
		Expect(c.Update(ctx, r.md)).To(Succeed())
		Expect(notQuiet(ownersAt(atOnce), owner.ForMachineDeployment(stale))).NotTo(BeEmpty())
	})
})

// leave has a Machine being deleted, for as long as the spec lasts.
func leave(machine *clusterv1.Machine) {
	GinkgoHelper()
	machine.Finalizers = []string{"test.example.com/draining"}
	Expect(c.Update(ctx, machine)).To(Succeed())
	Expect(c.Delete(ctx, machine)).To(Succeed())
}

var _ = DescribeTable("A quiet point of a KubeadmControlPlane by the health of its Machines",
	func(prepare func(machine *clusterv1.Machine), expected string) {
		namespace := plane.NewNamespace(ctx)
		kcp := ownertest.KubeadmControlPlane(namespace, "cp", "c", "t")
		plane.Create(ctx, kcp)
		ownertest.Observe(ctx, c, kcp, 3)
		machine := ownertest.ControlPlaneMachine(kcp, "m")
		updated := machine.DeepCopy()
		prepare(updated) // what is not status
		machine.Annotations, machine.Finalizers = updated.Annotations, updated.Finalizers
		plane.Create(ctx, machine)
		machine.Status.NodeRef.Name = "n"
		for _, condition := range []string{"APIServerPodHealthy", "ControllerManagerPodHealthy", "SchedulerPodHealthy", "EtcdPodHealthy", "EtcdMemberHealthy"} {
			conditions.Set(machine, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: "Test"})
		}
		prepare(machine)
		Expect(c.Status().Update(ctx, machine)).To(Succeed())
		if len(updated.Finalizers) > 0 {
			Expect(c.Delete(ctx, machine)).To(Succeed())
		}
		Expect(notQuiet(ownersAt(longAfter), owner.ForKubeadmControlPlane(kcp))).To(Equal(expected))
	},
	Entry("all well", func(*clusterv1.Machine) {}, ""),
	Entry("external etcd, of which nothing is said", func(m *clusterv1.Machine) {
		conditions.Delete(m, "EtcdPodHealthy")
		conditions.Delete(m, "EtcdMemberHealthy")
	}, ""),
	Entry("one that would be deleted", func(m *clusterv1.Machine) { fail(m, "EtcdMemberHealthy", metav1.ConditionUnknown) },
		"Machine m is unhealthy (EtcdMemberHealthy), and KubeadmControlPlane deletes such a Machine instead of updating it: repair its node first"),
	Entry("one that is chosen to be deleted", func(m *clusterv1.Machine) { m.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: ""} },
		"Machine m has the annotation cluster.x-k8s.io/delete-machine, and KubeadmControlPlane deletes such a Machine instead of updating it: "+
			"remove the annotation, or delete the Machine"),
	Entry("one that is being updated", func(m *clusterv1.Machine) {
		m.Annotations = map[string]string{clusterv1.UpdateInProgressAnnotation: ""}
		fail(m, "APIServerPodHealthy", metav1.ConditionFalse)
	}, ""),
	Entry("one without a Node", func(m *clusterv1.Machine) { m.Status.NodeRef = clusterv1.MachineNodeReference{} }, "Machine m has no Node yet"),
	Entry("one that is not judged yet", func(m *clusterv1.Machine) { conditions.Delete(m, "SchedulerPodHealthy") },
		"Machine m has no condition SchedulerPodHealthy yet"),
	Entry("one that leaves, without a Node", func(m *clusterv1.Machine) {
		m.Status.NodeRef = clusterv1.MachineNodeReference{}
		m.Finalizers = []string{"test.example.com/keep"}
	}, ""),
)

var _ = It("A KubeadmControlPlane is at no quiet point while a change of its own was not acted on", func() {
	kcp := ownertest.KubeadmControlPlane(plane.NewNamespace(ctx), "cp", "c", "t")
	plane.Create(ctx, kcp)
	ownertest.Observe(ctx, c, kcp, 3)
	kcp.Spec.Version = "v1.37.0"
	Expect(c.Update(ctx, kcp)).To(Succeed())
	Expect(notQuiet(ownersAt(atOnce), owner.ForKubeadmControlPlane(kcp))).To(Equal("KubeadmControlPlane cp was changed and has not been acted on yet"))
	Expect(notQuiet(ownersAt(longAfter), owner.ForKubeadmControlPlane(kcp))).To(BeEmpty())
})

var _ = Describe("LookAgainAt, of what KubeadmControlPlane does not know", func() {
	It("marks a Machine that may be healthy by now, not more often than KubeadmControlPlane looks itself", func() {
		namespace := plane.NewNamespace(ctx)
		kcp := ownertest.KubeadmControlPlane(namespace, "cp", "c", "t")
		plane.Create(ctx, kcp)
		machine := ownertest.ControlPlaneMachine(kcp, "m")
		plane.Create(ctx, machine)
		looked := func(at time.Duration) string {
			GinkgoHelper()
			owners := ownersAt(at)
			machines, err := owners.Machines(ctx, owner.ForKubeadmControlPlane(kcp))
			Expect(err).NotTo(HaveOccurred())
			Expect(capiworkaround.LookAgainAt(ctx, c, owners.Clock.Now(), machines)).To(Succeed())
			Expect(c.Get(ctx, client.ObjectKeyFromObject(machine), machine)).To(Succeed())
			return machine.Annotations[infrav1.HealthLookAnnotation]
		}
		fail(machine, "EtcdMemberHealthy", metav1.ConditionUnknown)
		fail(machine, "NodeReady", metav1.ConditionFalse)
		Expect(c.Status().Update(ctx, machine)).To(Succeed())
		Expect(looked(0)).To(BeEmpty(), "its node is down: there is nothing new")

		fail(machine, "NodeReady", metav1.ConditionTrue)
		Expect(c.Status().Update(ctx, machine)).To(Succeed())
		first := looked(0)
		Expect(first).NotTo(BeEmpty())
		Expect(looked(atOnce)).To(Equal(first))
		second := looked(longAfter)
		Expect(second).NotTo(Equal(first))

		third := looked(0)
		Expect(third).NotTo(Equal(second), "a former leader's clock was ahead")

		fail(machine, "EtcdMemberHealthy", metav1.ConditionTrue)
		Expect(c.Status().Update(ctx, machine)).To(Succeed())
		Expect(looked(2 * longAfter)).To(Equal(third))
	})
})

func fail(machine *clusterv1.Machine, condition string, status metav1.ConditionStatus) {
	conditions.Set(machine, metav1.Condition{Type: condition, Status: status, Reason: "Test"})
}

func scale(set *clusterv1.MachineSet, replicas int32) {
	GinkgoHelper()
	set.Spec.Replicas = ptr.To(replicas)
	Expect(c.Update(ctx, set)).To(Succeed())
}

var _ = Describe("ReturnTo", func() {
	DescribeTable("a template by what a MachineDeployment has under way",
		func(prepare func(*rollingOut), template, reason string) {
			r := newRollingOut()
			prepare(r)
			Expect(returnTo(ownersAt(longAfter), owner.ForMachineDeployment(r.md), template)).To(Equal(reason))
		},
		Entry("to a fresh name", func(*rollingOut) {}, "fresh", ""),
		Entry("to a name that Cluster API may be taking Machines from", func(*rollingOut) {}, "old",
			"MachineSet ms-old of ElementalMachineTemplate old is half rolled out (2 of 3 Machines)"),
		Entry("while a Machine is updated, so that nothing is taken", func(r *rollingOut) { annotate(r.machine, clusterv1.UpdateInProgressAnnotation, "") }, "old", ""),
		Entry("while the Machine that was updated is being deleted", func(r *rollingOut) {
			annotate(r.machine, clusterv1.UpdateInProgressAnnotation, "")
			leave(r.machine)
		}, "old", "MachineSet ms-old of ElementalMachineTemplate old is half rolled out (2 of 3 Machines)"),
		Entry("to a name that has all Machines but for one that is being deleted", func(r *rollingOut) {
			leaving := ownertest.Machine(r.old, "leaving")
			plane.Create(ctx, leaving)
			scale(r.old, 3)
			ownertest.Observe(ctx, c, r.old, 3)
			leave(leaving)
		}, "old", "MachineSet ms-old of ElementalMachineTemplate old is half rolled out (2 of 3 Machines)"),
		Entry("to a name that has no Machines left", func(r *rollingOut) {
			scale(r.bad, 0)
			ownertest.Observe(ctx, c, r.bad, 0)
			Expect(c.Delete(ctx, r.machine)).To(Succeed())
		}, "bad", ""),
		Entry("to a name that has all Machines", func(r *rollingOut) { scale(r.old, 3); ownertest.Observe(ctx, c, r.old, 3) }, "old", ""),
	)

	It("keeps a control plane from a template whose update a Machine has not ended", func() {
		namespace := plane.NewNamespace(ctx)
		kcp := ownertest.KubeadmControlPlane(namespace, "cp", "c", "good")
		plane.Create(ctx, kcp)
		machine := ownertest.ControlPlaneMachine(kcp, "m")
		plane.Create(ctx, machine, ownertest.ElementalMachine(namespace, "m", "bad", "x"))
		owners := ownersAt(longAfter)
		Expect(returnTo(owners, owner.ForKubeadmControlPlane(kcp), "bad")).To(BeEmpty())
		annotate(machine, clusterv1.UpdateInProgressAnnotation, "")
		Expect(returnTo(owners, owner.ForKubeadmControlPlane(kcp), "bad")).To(
			Equal("Machine m is still being updated to ElementalMachineTemplate bad"))
		Expect(returnTo(owners, owner.ForKubeadmControlPlane(kcp), "other")).To(BeEmpty())
	})
})
