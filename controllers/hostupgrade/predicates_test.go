// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = DescribeTable("A change of an attempt wakes it", func(change func(*infrav1.ElementalHostUpgrade), passes bool) {
	before := &infrav1.ElementalHostUpgrade{Status: infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeProgressing, Step: stepApprove}}
	after := before.DeepCopy()
	after.ResourceVersion = "2"
	change(after)
	Expect(attemptChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(passes))
},
	Entry("when a user cancels it", func(u *infrav1.ElementalHostUpgrade) { u.Spec.Cancel = true }, true),
	Entry("when it has its finalizer", func(u *infrav1.ElementalHostUpgrade) { u.Finalizers = []string{"f"} }, true),
	Entry("when it has ended", func(u *infrav1.ElementalHostUpgrade) { u.Status.Phase = infrav1.UpgradeRolledBack }, true),
	Entry("when it is paused", func(u *infrav1.ElementalHostUpgrade) {
		conditions.Set(u, metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionTrue, Reason: clusterv1.PausedReason})
	}, true),
	Entry("when it has begun to wait for a slot", func(u *infrav1.ElementalHostUpgrade) { u.Status.Step = stepAdmit }, true),
	Entry("in a resync", func(u *infrav1.ElementalHostUpgrade) { u.ResourceVersion = "" }, true),
	Entry("not when it reports another step", func(u *infrav1.ElementalHostUpgrade) { u.Status.Step = stepCordon }, false),
	Entry("not when it reports why it waits", func(u *infrav1.ElementalHostUpgrade) {
		u.Status.Message, u.Status.Holds = "m", []infrav1.UpgradeHold{{Reason: infrav1.HoldNodePaused}}
	}, false),
	Entry("when it has begun to wait for its turn to fetch", func(u *infrav1.ElementalHostUpgrade) {
		u.Status.Step, u.Status.Holds = stepPreflight, []infrav1.UpgradeHold{{Reason: infrav1.HoldPrefetchBusy}}
	}, true),
)

var _ = It("An attempt that finds in its stage that no slot is free is woken by that, as one may be by then", func() {
	before := &infrav1.ElementalHostUpgrade{Status: infrav1.ElementalHostUpgradeStatus{
		Phase: infrav1.UpgradeProgressing, Step: stepAdmit, Holds: []infrav1.UpgradeHold{{Reason: infrav1.HoldNotInStage}},
	}}
	after := before.DeepCopy()
	after.ResourceVersion, after.Status.Holds[0].Reason = "2", infrav1.HoldNoSlot
	Expect(attemptChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(BeTrue())
})

var _ = DescribeTable("An attempt that is there when the manager starts", func(phase infrav1.UpgradePhase, initial, passes bool) {
	upgrade := &infrav1.ElementalHostUpgrade{Status: infrav1.ElementalHostUpgradeStatus{Phase: phase}}
	Expect(attemptChanged().Create(event.CreateEvent{Object: upgrade, IsInInitialList: initial})).To(Equal(passes))
},
	Entry("is looked at", infrav1.UpgradeProgressing, true, true),
	Entry("is looked at where it has rolled back, which may become Superseded", infrav1.UpgradeRolledBack, true, true),
	Entry("is looked at where its status was lost in a move", infrav1.UpgradePhase(""), true, true),
	Entry("is not where it is settled", infrav1.UpgradeSucceeded, true, false),
	Entry("is where it is created settled later, as a backup is restored", infrav1.UpgradeSucceeded, false, true),
)

var _ = DescribeTable("A change of a Machine wakes its attempts", func(change func(*clusterv1.Machine), passes bool) {
	before := &clusterv1.Machine{}
	after := before.DeepCopy()
	change(after)
	Expect(machineChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(passes))
},
	Entry("when it is deleted", func(m *clusterv1.Machine) { m.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, true),
	Entry("when it has a Node", func(m *clusterv1.Machine) { m.Status.NodeRef.Name = "n" }, true),
	Entry("when Cluster API marks it", func(m *clusterv1.Machine) {
		m.Annotations = map[string]string{clusterv1.UpdateInProgressAnnotation: ""}
	}, true),
	Entry("when its etcd member is judged", func(m *clusterv1.Machine) {
		conditions.Set(m, metav1.Condition{Type: controlplanev1.KubeadmControlPlaneMachineEtcdMemberHealthyCondition, Status: metav1.ConditionTrue, Reason: "r"})
	}, true),
	Entry("not when its phase is another", func(m *clusterv1.Machine) { m.Status.Phase = string(clusterv1.MachinePhaseUpdating) }, false),
	Entry("not when attempts mark it for its health checks", func(m *clusterv1.Machine) {
		m.Annotations = map[string]string{clusterv1.MachineSkipRemediationAnnotation: "", infrav1.SkipRemediationByAnnotation: "a"}
	}, false),
)

var _ = DescribeTable("A change of a Cluster wakes its attempts", func(change func(*clusterv1.Cluster), passes bool) {
	before := &clusterv1.Cluster{}
	after := before.DeepCopy()
	change(after)
	Expect(clusterChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(passes))
},
	Entry("when it is paused", func(c *clusterv1.Cluster) { c.Spec.Paused = new(true) }, true),
	Entry("not when its Machines are counted", func(c *clusterv1.Cluster) { c.Status.Phase = "p" }, false),
)

var _ = DescribeTable("A change of a MachineDeployment wakes the attempts of its Cluster", func(change func(*clusterv1.MachineDeployment), passes bool) {
	before := &clusterv1.MachineDeployment{}
	after := before.DeepCopy()
	change(after)
	Expect(deploymentChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(passes))
},
	Entry("when its spec is another", func(d *clusterv1.MachineDeployment) { d.Generation = 2 }, true),
	Entry("when it is paused, which is no change of its spec", func(d *clusterv1.MachineDeployment) {
		d.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	}, true),
	Entry("not when its revision is noted", func(d *clusterv1.MachineDeployment) {
		d.Annotations = map[string]string{clusterv1.RevisionAnnotation: "2"}
	}, false),
)
