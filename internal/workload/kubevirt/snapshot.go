// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Snapshot is what decisions are made from: one list of each kind.
type Snapshot struct {
	// KubeVirt is the installation; nil if there is none.
	KubeVirt *kubevirtv1.KubeVirt
	// Instances are the VirtualMachineInstances that decisions are made for.
	Instances []kubevirtv1.VirtualMachineInstance
	// Machines are all VirtualMachines.
	Machines []kubevirtv1.VirtualMachine
	// Migrations are all VirtualMachineInstanceMigrations.
	Migrations []kubevirtv1.VirtualMachineInstanceMigration
	// Nodes are all Nodes, and Pods all Pods that have not ended: together they say what fits where.
	Nodes []corev1.Node
	Pods  []corev1.Pod
}

// Read reads the virtual machines of all Nodes, and what decides on them, with one call for each kind.
func Read(ctx context.Context, c client.Client) (*Snapshot, error) {
	return read(ctx, c)
}

// readNode reads the virtual machines of one Node, and what decides on them.
func readNode(ctx context.Context, c client.Client, node string) (*Snapshot, error) {
	return read(ctx, c, client.MatchingLabels{kubevirtv1.NodeNameLabel: node})
}

func read(ctx context.Context, c client.Client, which ...client.ListOption) (*Snapshot, error) {
	instances, machines := &kubevirtv1.VirtualMachineInstanceList{}, &kubevirtv1.VirtualMachineList{}
	migrations, kubeVirts := &kubevirtv1.VirtualMachineInstanceMigrationList{}, &kubevirtv1.KubeVirtList{}
	nodes, pods := &corev1.NodeList{}, &corev1.PodList{}
	for _, each := range []struct {
		list    client.ObjectList
		options []client.ListOption
	}{
		{kubeVirts, nil}, {instances, which}, {machines, nil}, {migrations, nil}, {nodes, nil}, {pods, []client.ListOption{running}},
	} {
		if err := list(ctx, c, each.list, each.options...); err != nil {
			return nil, err
		}
	}
	snapshot := &Snapshot{
		Instances: instances.Items, Machines: machines.Items, Migrations: migrations.Items, Nodes: nodes.Items, Pods: pods.Items,
	}
	if len(kubeVirts.Items) > 0 { // KubeVirt allows one
		snapshot.KubeVirt = &kubeVirts.Items[0]
	}
	return snapshot, nil
}

// running selects Pods that have not ended.
var running = client.MatchingFieldsSelector{Selector: fields.AndSelectors(
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
)}

// list reads a list; a kind that does not exist has no objects.
func list(ctx context.Context, c client.Client, into client.ObjectList, options ...client.ListOption) error {
	if err := c.List(ctx, into, options...); err != nil && !isAbsent(err) {
		return fmt.Errorf("listing %T: %w", into, err)
	}
	return nil
}

// launchers are the Pods of virtual machines on the Node that have not ended, by name.
func launchers(ctx context.Context, c client.Client, node string) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	err := list(ctx, c, pods, client.MatchingLabels{kubevirtv1.AppLabel: launcher}, client.MatchingFieldsSelector{
		Selector: fields.AndSelectors(running.Selector, fields.OneTermEqualSelector("spec.nodeName", node)),
	})
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return pods.Items, err
}

// Values of KubeVirt's label on Pods.
const (
	launcher = "virt-launcher" // a virtual machine runs in it
	hotplug  = "hotplug-disk"  // it holds a disk for one
)

// OwnsPod says whether a Pod comes and goes with a virtual machine.
func OwnsPod(pod *corev1.Pod) bool {
	role := pod.Labels[kubevirtv1.AppLabel]
	return role == launcher || role == hotplug
}

func keyOf(object client.Object) string {
	return object.GetNamespace() + "/" + object.GetName()
}
