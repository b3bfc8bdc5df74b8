// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// State of a virtual machine. It is comparable.
type State struct {
	// UID of the instance, which differs after a restart. Empty if there is none.
	UID types.UID
	// Node that it runs on, and its phase.
	Node  string
	Phase kubevirtv1.VirtualMachineInstancePhase
	// Evacuating is the node that it has to leave; set by an eviction.
	Evacuating string
	// Migratable reports whether LiveMigratable is True.
	Migratable bool
}

// Running reports whether the guest runs.
func (s State) Running() bool { return s.Phase == kubevirtv1.Running }

// Look returns the state of a virtual machine.
func Look(ctx context.Context, kube client.Client, key client.ObjectKey) (State, error) {
	instance := &kubevirtv1.VirtualMachineInstance{}
	if err := kube.Get(ctx, key, instance); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return State{}, nil
		}
		return State{}, fmt.Errorf("reading VirtualMachineInstance %s: %w", key, err)
	}
	return State{
		UID: instance.UID, Node: instance.Status.NodeName, Phase: instance.Status.Phase,
		Evacuating: instance.Status.EvacuationNodeName,
		Migratable: slices.ContainsFunc(instance.Status.Conditions, func(c kubevirtv1.VirtualMachineInstanceCondition) bool {
			return c.Type == kubevirtv1.VirtualMachineInstanceIsMigratable && c.Status == corev1.ConditionTrue
		}),
	}, nil
}

// Launchers are the Pods of a virtual machine that have not ended, on all nodes.
func Launchers(ctx context.Context, kube client.Client, key client.ObjectKey) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	err := kube.List(ctx, pods, client.InNamespace(key.Namespace), client.MatchingLabels{
		kubevirtv1.AppLabel: "virt-launcher", kubevirtv1.DeprecatedVirtualMachineNameLabel: key.Name,
	})
	if err != nil {
		return nil, fmt.Errorf("listing the launchers of %s: %w", key, err)
	}
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	}), nil
}

// Migrations of a virtual machine that KubeVirt has not deleted yet, oldest first. It keeps a limited number of
// finished ones.
func Migrations(ctx context.Context, kube client.Client, key client.ObjectKey) ([]kubevirtv1.VirtualMachineInstanceMigration, error) {
	migrations := &kubevirtv1.VirtualMachineInstanceMigrationList{}
	if err := kube.List(ctx, migrations, client.InNamespace(key.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the migrations of %s: %w", key, err)
	}
	own := slices.DeleteFunc(migrations.Items, func(m kubevirtv1.VirtualMachineInstanceMigration) bool { return m.Spec.VMIName != key.Name })
	slices.SortFunc(own, func(a, b kubevirtv1.VirtualMachineInstanceMigration) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return own, nil
}

// Evict requests the eviction of a virtual machine's launcher on the node that it runs on, as a drain does, and returns
// the API server's response.
func Evict(ctx context.Context, kube client.Client, key client.ObjectKey) error {
	state, err := Look(ctx, kube, key)
	if err != nil {
		return err
	}
	pods, err := Launchers(ctx, kube, key)
	if err != nil {
		return err
	}
	for i := range pods {
		if pods[i].Spec.NodeName == state.Node {
			return kube.SubResource("eviction").Create(ctx, &pods[i], &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pods[i].Name}})
		}
	}
	return fmt.Errorf("evicting %s: it has no launcher on node %q", key, state.Node)
}
