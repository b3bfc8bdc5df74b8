// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

const (
	// fewCalls is how many calls read VirtualMachines, before fewer calls that read more take their place.
	fewCalls = 8
	// selectedTogether is how many names or UIDs stand in one selector, which is a part of a URL.
	selectedTogether = 100
)

// look reads what decides on the virtual machines of a Node, so that it costs what there is on the Node, and not what
// there is in the cluster. It is nil where nothing of virtual machines is on the Node.
func (e Evacuation) look(ctx context.Context) (*Snapshot, error) {
	instances := &kubevirtv1.VirtualMachineInstanceList{}
	if err := list(ctx, e.Client, instances, client.MatchingLabels{kubevirtv1.NodeNameLabel: e.Node.Name}); err != nil {
		return nil, err
	}
	pods, err := launchers(ctx, e.Client, e.Node.Name)
	if err != nil {
		return nil, err
	}
	if len(pods) == 0 && !slices.ContainsFunc(instances.Items, func(i kubevirtv1.VirtualMachineInstance) bool { return !i.IsFinal() }) {
		return nil, nil
	}
	s := &Snapshot{Instances: instances.Items, Pods: pods, Counted: sets.New[string]()}
	for _, read := range []func(context.Context, *Snapshot) error{
		e.readKubeVirt, e.readStarting, e.readMachines, e.readMigrations, e.readTargets, e.readNodes,
	} {
		if err := read(ctx, s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// readStarting adds the instances that start on the Node. KubeVirt names the Node of an instance when its Pod runs, which it may never do: until then
// only the Pod says where it is.
func (e Evacuation) readStarting(ctx context.Context, s *Snapshot) error {
	known := sets.New[string]()
	for i := range s.Instances {
		known.Insert(string(s.Instances[i].UID))
	}
	for i := range s.Pods {
		key, uid := instanceKey(&s.Pods[i]), s.Pods[i].Labels[kubevirtv1.CreatedByLabel]
		if key.Name == "" || known.Has(uid) {
			continue
		}
		instance := kubevirtv1.VirtualMachineInstance{}
		switch err := e.Client.Get(ctx, key, &instance); {
		case existing.IsAbsent(err):
		case err != nil:
			return fmt.Errorf("reading VirtualMachineInstance %s: %w", key, err)
		case string(instance.UID) == uid && instance.Status.NodeName == "":
			s.Instances = append(s.Instances, instance)
		}
	}
	return nil
}

// instanceKey is where the instance of a Pod is that KubeVirt has made to start it; without a name if it was made for a migration.
func instanceKey(pod *corev1.Pod) client.ObjectKey {
	if pod.Labels[kubevirtv1.MigrationJobLabel] != "" {
		return client.ObjectKey{}
	}
	key := client.ObjectKey{Namespace: pod.Namespace, Name: pod.Annotations[kubevirtv1.DomainAnnotation]}
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == kubevirtv1.VirtualMachineInstanceGroupVersionKind.Kind {
		key.Name = owner.Name
	}
	return key
}

func (e Evacuation) readKubeVirt(ctx context.Context, s *Snapshot) error {
	kubeVirts := &kubevirtv1.KubeVirtList{}
	err := list(ctx, e.Client, kubeVirts)
	s.KubeVirt = only(kubeVirts)
	return err
}

func (e Evacuation) readNodes(ctx context.Context, s *Snapshot) (err error) {
	if e.Nodes != nil {
		s.Nodes, err = e.Nodes(ctx)
		return err
	}
	nodes := &corev1.NodeList{}
	err = list(ctx, e.Client, nodes)
	s.Nodes = nodes.Items
	return err
}

// readMachines reads the VirtualMachines of the instances: by name where they are few, by namespace where those are, and
// all of them otherwise.
func (e Evacuation) readMachines(ctx context.Context, s *Snapshot) error {
	machines := []client.ObjectKey{}
	namespaces := sets.New[string]()
	for i := range s.Instances {
		if key := machineKey(&s.Instances[i]); key.Name != "" {
			machines = append(machines, key)
			namespaces.Insert(key.Namespace)
		}
	}
	if len(machines) <= fewCalls {
		return e.readEach(ctx, s, machines)
	}
	if len(namespaces) > fewCalls {
		namespaces = sets.New(metav1.NamespaceAll)
	}
	for _, namespace := range sets.List(namespaces) {
		found := &kubevirtv1.VirtualMachineList{}
		if err := list(ctx, e.Client, found, client.InNamespace(namespace)); err != nil {
			return err
		}
		s.Machines = append(s.Machines, found.Items...)
	}
	return nil
}

func (e Evacuation) readEach(ctx context.Context, s *Snapshot, machines []client.ObjectKey) error {
	for _, key := range machines {
		machine := kubevirtv1.VirtualMachine{}
		switch err := e.Client.Get(ctx, key, &machine); {
		case existing.IsAbsent(err):
		case err != nil:
			return fmt.Errorf("reading VirtualMachine %s: %w", key, err)
		default:
			s.Machines = append(s.Machines, machine)
		}
	}
	return nil
}

// machineKey is where the VirtualMachine of an instance is; without a name if it has none.
func machineKey(vmi *kubevirtv1.VirtualMachineInstance) client.ObjectKey {
	owner := metav1.GetControllerOf(vmi)
	if owner == nil || owner.Kind != kubevirtv1.VirtualMachineGroupVersionKind.Kind {
		return client.ObjectKey{}
	}
	return client.ObjectKey{Namespace: vmi.Namespace, Name: owner.Name}
}

// readMigrations reads those of the instances. virt-api labels every migration with the name of its instance when it is
// created; one whose name is no label value has none.
// Source: KubeVirt 1.7, pkg/virt-api/webhooks/mutating-webhook/mutators/migration-create-mutator.go.
func (e Evacuation) readMigrations(ctx context.Context, s *Snapshot) error {
	names := sets.New[string]()
	for i := range s.Instances {
		if name := s.Instances[i].Name; len(validation.IsValidLabelValue(name)) == 0 {
			names.Insert(name)
		}
	}
	return inParts(kubevirtv1.MigrationSelectorLabel, sets.List(names), func(selector client.ListOption) error {
		found := &kubevirtv1.VirtualMachineInstanceMigrationList{}
		err := list(ctx, e.Client, found, selector)
		s.Migrations = append(s.Migrations, found.Items...)
		return err
	})
}

// readTargets reads the Pods that migrations are waiting for.
func (e Evacuation) readTargets(ctx context.Context, s *Snapshot) error {
	waiting := []string{}
	for i := range s.Migrations {
		if isScheduling(&s.Migrations[i]) {
			waiting = append(waiting, string(s.Migrations[i].UID))
		}
	}
	return inParts(kubevirtv1.MigrationJobLabel, waiting, func(selector client.ListOption) error {
		found := &corev1.PodList{}
		err := list(ctx, e.Client, found, selector, running)
		s.add(found.Items)
		return err
	})
}

// inParts lists what has one of the values in its label, with as many selectors as that takes.
func inParts(label string, values []string, read func(client.ListOption) error) error {
	for part := range slices.Chunk(values, selectedTogether) {
		requirement, err := labels.NewRequirement(label, selection.In, part)
		if err != nil {
			return fmt.Errorf("selecting by label %s: %w", label, err)
		}
		if err := read(client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*requirement)}); err != nil {
			return err
		}
	}
	return nil
}

// add adds Pods that are not there yet: no Pod takes its room twice.
func (s *Snapshot) add(pods []corev1.Pod) {
	known := sets.New[string]()
	for i := range s.Pods {
		known.Insert(keyOf(&s.Pods[i]))
	}
	for i := range pods {
		if !known.Has(keyOf(&pods[i])) {
			s.Pods = append(s.Pods, pods[i])
		}
	}
}
