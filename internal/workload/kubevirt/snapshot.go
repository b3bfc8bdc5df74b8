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
	"k8s.io/apimachinery/pkg/util/sets"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// Snapshot is what decisions are made from.
type Snapshot struct {
	// KubeVirt is the installation; nil if there is none.
	KubeVirt *kubevirtv1.KubeVirt
	// Instances are the VirtualMachineInstances that decisions are made for.
	Instances []kubevirtv1.VirtualMachineInstance
	// Machines are the VirtualMachines of the instances, and maybe others.
	Machines []kubevirtv1.VirtualMachine
	// Migrations are the VirtualMachineInstanceMigrations of the instances, and maybe others.
	Migrations []kubevirtv1.VirtualMachineInstanceMigration
	// Nodes are all Nodes.
	Nodes []corev1.Node
	// Pods that have not ended: those that the instances run in, those that they are being migrated to, and those that
	// take room on Nodes.
	Pods []corev1.Pod
	// Counted are the names of the Nodes of which Pods has all; nil: of all of them.
	Counted sets.Set[string]
}

// Read reads the virtual machines of all Nodes, and what decides on them, with one call for each kind.
func Read(ctx context.Context, c client.Client) (*Snapshot, error) {
	instances, machines := &kubevirtv1.VirtualMachineInstanceList{}, &kubevirtv1.VirtualMachineList{}
	migrations, kubeVirts := &kubevirtv1.VirtualMachineInstanceMigrationList{}, &kubevirtv1.KubeVirtList{}
	nodes := &corev1.NodeList{}
	for _, each := range []client.ObjectList{kubeVirts, instances, machines, migrations, nodes} {
		if err := list(ctx, c, each); err != nil {
			return nil, err
		}
	}
	pods, err := allPods(ctx, c)
	if err != nil {
		return nil, err
	}
	return &Snapshot{
		KubeVirt: only(kubeVirts), Instances: instances.Items, Machines: machines.Items, Migrations: migrations.Items,
		Nodes: nodes.Items, Pods: pods,
	}, nil
}

// only is the installation, of which KubeVirt allows one; nil if there is none.
func only(kubeVirts *kubevirtv1.KubeVirtList) *kubevirtv1.KubeVirt {
	if len(kubeVirts.Items) == 0 {
		return nil
	}
	return &kubeVirts.Items[0]
}

// running selects Pods that have not ended.
var running = client.MatchingFieldsSelector{Selector: fields.AndSelectors(
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
)}

// list reads a list; a kind that does not exist has no objects.
func list(ctx context.Context, c client.Client, into client.ObjectList, options ...client.ListOption) error {
	if err := c.List(ctx, into, options...); err != nil && !existing.IsAbsent(err) {
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

// OwnsPod reports whether a Pod comes and goes with a virtual machine.
func OwnsPod(pod *corev1.Pod) bool {
	role := pod.Labels[kubevirtv1.AppLabel]
	return role == launcher || role == hotplug
}

func keyOf(object client.Object) string {
	return object.GetNamespace() + "/" + object.GetName()
}
