// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// decider is a Snapshot that things are found in.
type decider struct {
	snapshot   *Snapshot
	question   Question
	machines   map[string]*kubevirtv1.VirtualMachine
	migrations map[string]history
	// pods are the Pods that the instances run in, by the UID of the instance.
	pods map[string]*corev1.Pod
	// targeted are the UIDs of migrations whose new Pod has a Node.
	targeted map[string]bool
	targets  *targets
}

func newDecider(s *Snapshot, q Question) *decider {
	d := &decider{
		snapshot: s, question: q,
		machines:   map[string]*kubevirtv1.VirtualMachine{},
		migrations: histories(s.Migrations),
		pods:       map[string]*corev1.Pod{},
		targeted:   map[string]bool{},
		targets:    newTargets(s, q.Node),
	}
	for i := range s.Machines {
		d.machines[keyOf(&s.Machines[i])] = &s.Machines[i]
	}
	for i := range s.Pods {
		pod := &s.Pods[i]
		switch {
		case pod.Labels[kubevirtv1.AppLabel] != launcher || pod.Spec.NodeName == "":
		case pod.Spec.NodeName == q.Node:
			d.pods[pod.Labels[kubevirtv1.CreatedByLabel]] = pod
		default:
			d.targeted[pod.Labels[kubevirtv1.MigrationJobLabel]] = true
		}
	}
	return d
}

// machineOf is the VirtualMachine that an instance belongs to; nil if there is none.
func (d *decider) machineOf(vmi *kubevirtv1.VirtualMachineInstance) *kubevirtv1.VirtualMachine {
	return d.machines[machineKey(vmi).String()]
}

// strategyOf is what KubeVirt does when the Pod of an instance is evicted; empty is as good as None.
func (d *decider) strategyOf(vmi *kubevirtv1.VirtualMachineInstance) kubevirtv1.EvictionStrategy {
	if vmi.Spec.EvictionStrategy != nil {
		return *vmi.Spec.EvictionStrategy
	}
	if kubeVirt := d.snapshot.KubeVirt; kubeVirt != nil && kubeVirt.Spec.Configuration.EvictionStrategy != nil {
		return *kubeVirt.Spec.Configuration.EvictionStrategy
	}
	return ""
}
