// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

const namespace = "vms"

// began is when the evacuation of every table began.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// change makes something of a snapshot different.
type change func(*kubevirt.Snapshot)

// snapshot is one virtual machine, "a" on node-1, that can be migrated to node-2.
func snapshot(changes ...change) *kubevirt.Snapshot {
	s := &kubevirt.Snapshot{
		KubeVirt: &kubevirtv1.KubeVirt{},
		Nodes:    []corev1.Node{*node("node-1"), *node("node-2")},
	}
	addVM(s, "a", "1Gi")
	for _, change := range changes {
		change(s)
	}
	return s
}

func node(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			kubevirt.SchedulableLabel: "true", corev1.LabelArchStable: "amd64", corev1.LabelHostname: name,
		}},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("4Gi"),
				corev1.ResourcePods: resource.MustParse("110"), "devices.kubevirt.io/kvm": resource.MustParse("1k"),
			},
		},
	}
}

// addVM adds a VirtualMachine that runs on node-1, with its instance and its Pod.
func addVM(s *kubevirt.Snapshot, name, memory string) {
	uid := types.UID("uid-" + name)
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	s.Machines = append(s.Machines, kubevirtv1.VirtualMachine{
		ObjectMeta: meta, Spec: kubevirtv1.VirtualMachineSpec{RunStrategy: new(kubevirtv1.RunStrategyAlways)},
	})
	meta.UID = uid
	meta.OwnerReferences = []metav1.OwnerReference{{Kind: "VirtualMachine", Name: name, Controller: new(true)}}
	s.Instances = append(s.Instances, kubevirtv1.VirtualMachineInstance{
		ObjectMeta: meta,
		Spec: kubevirtv1.VirtualMachineInstanceSpec{
			Architecture: "amd64", EvictionStrategy: new(kubevirtv1.EvictionStrategyLiveMigrate),
		},
		Status: kubevirtv1.VirtualMachineInstanceStatus{
			Phase: kubevirtv1.Running, NodeName: "node-1",
			Conditions: []kubevirtv1.VirtualMachineInstanceCondition{{
				Type: kubevirtv1.VirtualMachineInstanceIsMigratable, Status: corev1.ConditionTrue,
			}},
		},
	})
	s.Pods = append(s.Pods, pod("virt-launcher-"+name, "node-1", memory, func(p *corev1.Pod) {
		p.Labels = map[string]string{kubevirtv1.AppLabel: "virt-launcher", kubevirtv1.CreatedByLabel: string(uid)}
		p.Spec.Containers[0].Resources.Requests["devices.kubevirt.io/kvm"] = resource.MustParse("1")
	}))
}

func pod(name, node, memory string, changes ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{
		NodeName: node,
		Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse(memory),
		}}}},
	}}
	for _, change := range changes {
		change(&p)
	}
	return p
}

func vmi(change func(*kubevirtv1.VirtualMachineInstance)) change {
	return func(s *kubevirt.Snapshot) { change(&s.Instances[0]) }
}

func vm(change func(*kubevirtv1.VirtualMachine)) change {
	return func(s *kubevirt.Snapshot) { change(&s.Machines[0]) }
}

func target(change func(*corev1.Node)) change {
	return func(s *kubevirt.Snapshot) { change(&s.Nodes[1]) }
}

func strategy(strategy kubevirtv1.EvictionStrategy) change {
	return vmi(func(v *kubevirtv1.VirtualMachineInstance) { v.Spec.EvictionStrategy = &strategy })
}

func labelled(label, value string) change {
	return vm(func(v *kubevirtv1.VirtualMachine) { v.Labels = map[string]string{label: value} })
}

func notMigratable(s *kubevirt.Snapshot) {
	s.Instances[0].Status.Conditions = []kubevirtv1.VirtualMachineInstanceCondition{{
		Type: kubevirtv1.VirtualMachineInstanceIsMigratable, Status: corev1.ConditionFalse,
		Reason: kubevirtv1.VirtualMachineInstanceReasonDisksNotMigratable, Message: "disk x is local",
	}}
}

func evicted(s *kubevirt.Snapshot) { s.Instances[0].Status.EvacuationNodeName = "node-1" }

func ownerless(s *kubevirt.Snapshot) {
	s.Instances[0].OwnerReferences = nil
	s.Machines = nil
}

func noTarget(s *kubevirt.Snapshot) { s.Nodes[1].Spec.Unschedulable = true }

// migration adds one that was made a while after the evacuation began.
func migration(after time.Duration, phase kubevirtv1.VirtualMachineInstanceMigrationPhase,
	changes ...func(*kubevirtv1.VirtualMachineInstanceMigration)) change {
	return func(s *kubevirt.Snapshot) {
		m := kubevirtv1.VirtualMachineInstanceMigration{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: fmt.Sprintf("kubevirt-evacuation-%d", len(s.Migrations)),
				CreationTimestamp: metav1.NewTime(began.Add(after)), UID: types.UID(fmt.Sprint(len(s.Migrations))),
			},
			Spec:   kubevirtv1.VirtualMachineInstanceMigrationSpec{VMIName: "a"},
			Status: kubevirtv1.VirtualMachineInstanceMigrationStatus{Phase: phase},
		}
		for _, change := range changes {
			change(&m)
		}
		s.Migrations = append(s.Migrations, m)
	}
}

func failing(reason string) func(*kubevirtv1.VirtualMachineInstanceMigration) {
	return func(m *kubevirtv1.VirtualMachineInstanceMigration) {
		m.Status.MigrationState = &kubevirtv1.VirtualMachineInstanceMigrationState{Failed: true, FailureReason: reason}
	}
}

// failed adds failed migrations, a minute apart.
func failed(times int) change {
	return func(s *kubevirt.Snapshot) {
		for i := range times {
			migration(time.Duration(i)*time.Minute, kubevirtv1.MigrationFailed, failing("guest too busy"))(s)
		}
	}
}

func blockedBy(condition string) func(*kubevirtv1.VirtualMachineInstanceMigration) {
	return func(m *kubevirtv1.VirtualMachineInstanceMigration) {
		m.Status.Conditions = []kubevirtv1.VirtualMachineInstanceMigrationCondition{{
			Type: kubevirtv1.VirtualMachineInstanceMigrationConditionType(condition), Status: corev1.ConditionTrue, Message: "wait",
		}}
	}
}
