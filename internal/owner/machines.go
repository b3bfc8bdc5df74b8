// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels/format"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// machineSets of a MachineDeployment, live, by name.
func (o *Owners) machineSets(ctx context.Context, md machineDeployment) ([]clusterv1.MachineSet, error) {
	list := &clusterv1.MachineSetList{}
	err := o.Live.List(ctx, list, client.InNamespace(md.Namespace),
		client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: md.Name})
	if err != nil {
		return nil, fmt.Errorf("listing the MachineSets of %s: %w", Describe(md), err)
	}
	return slices.DeleteFunc(list.Items, func(set clusterv1.MachineSet) bool {
		return !metav1.IsControlledBy(&set, md.MachineDeployment)
	}), nil
}

// parts of a MachineDeployment, live: its MachineSets, and the Machines that it had a moment later.
func (o *Owners) parts(ctx context.Context, md machineDeployment) ([]clusterv1.MachineSet, []metav1.PartialObjectMetadata, error) {
	sets, err := o.machineSets(ctx, md)
	if err != nil {
		return nil, nil, err
	}
	machines, err := o.machineMetadata(ctx, md)
	return sets, machines, err
}

// machineMetadata of an owner's Machines, live. Whole Machines are not needed, and there may be thousands.
func (o *Owners) machineMetadata(ctx context.Context, of Owner) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(machineKind + "List"))
	if err := o.Live.List(ctx, list, client.InNamespace(of.Object().GetNamespace()), machineLabels(of)); err != nil {
		return nil, fmt.Errorf("listing the Machines of %s: %w", Describe(of), err)
	}
	return list.Items, nil
}

// machineLabels are what Cluster API puts on the Machines of an owner, and on their infrastructure Machines.
func machineLabels(of Owner) client.MatchingLabels {
	if of.Kind() == KubeadmControlPlaneKind {
		return client.MatchingLabels{
			clusterv1.ClusterNameLabel:             of.ClusterName(),
			clusterv1.MachineControlPlaneNameLabel: format.MustFormatValue(of.Object().GetName()),
		}
	}
	return client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: of.Object().GetName()}
}

// Made says whether a Machine of an owner, or its ElementalMachine, carries these labels.
func Made(of Owner, set map[string]string) bool {
	return labels.SelectorFromSet(labels.Set(machineLabels(of))).Matches(labels.Set(set))
}

// remaining is how many Machines a MachineSet has that are not being deleted: by its status, or by those
// that were found where the status is older.
func remaining(set *clusterv1.MachineSet, machines []metav1.PartialObjectMetadata) int32 {
	var living, leaving int32
	for i := range machines {
		switch {
		case !metav1.IsControlledBy(&machines[i], set):
		case machines[i].DeletionTimestamp.IsZero():
			living++
		default:
			leaving++
		}
	}
	return max(living, ptr.Deref(set.Status.Replicas, 0)-leaving)
}

// withAnnotation returns the names of the objects that carry an annotation and are not being deleted,
// sorted.
func withAnnotation(objects []metav1.PartialObjectMetadata, annotation string) []string {
	names := []string{}
	for i := range objects {
		if _, found := objects[i].Annotations[annotation]; found && objects[i].DeletionTimestamp.IsZero() {
			names = append(names, objects[i].Name)
		}
	}
	slices.Sort(names)
	return names
}
