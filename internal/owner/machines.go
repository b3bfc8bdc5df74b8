// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// machineMetadata of an owner's Machines, live. Whole Machines are not needed, and there may be thousands.
func (o *Owners) machineMetadata(ctx context.Context, of Owner) ([]metav1.PartialObjectMetadata, error) {
	label := client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: of.Object().GetName()}
	if of.Kind() == KubeadmControlPlaneKind {
		label = client.MatchingLabels{
			clusterv1.ClusterNameLabel:             of.ClusterName(),
			clusterv1.MachineControlPlaneNameLabel: format.MustFormatValue(of.Object().GetName()),
		}
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(machineKind + "List"))
	if err := o.Live.List(ctx, list, client.InNamespace(of.Object().GetNamespace()), label); err != nil {
		return nil, fmt.Errorf("listing the Machines of %s: %w", Describe(of), err)
	}
	return list.Items, nil
}

// withAnnotation returns the names of the objects that carry an annotation, sorted.
func withAnnotation(objects []metav1.PartialObjectMetadata, annotation string) []string {
	names := []string{}
	for i := range objects {
		if _, found := objects[i].Annotations[annotation]; found {
			names = append(names, objects[i].Name)
		}
	}
	slices.Sort(names)
	return names
}
