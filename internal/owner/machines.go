// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// MachineSets of a MachineDeployment, live.
func (o *Owners) MachineSets(ctx context.Context, md *clusterv1.MachineDeployment) ([]clusterv1.MachineSet, error) {
	list := &clusterv1.MachineSetList{}
	err := o.Live.List(ctx, list, client.InNamespace(md.Namespace),
		client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: md.Name})
	if err != nil {
		return nil, fmt.Errorf("listing the MachineSets of MachineDeployment %s: %w", md.Name, err)
	}
	return slices.DeleteFunc(list.Items, func(set clusterv1.MachineSet) bool {
		return !metav1.IsControlledBy(&set, md)
	}), nil
}

// MachineMetadata is the metadata of an owner's Machines, live. There may be thousands of them: use Machines only where
// the whole objects are needed.
func (o *Owners) MachineMetadata(ctx context.Context, of Owner) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(machineKind + "List"))
	if err := o.Live.List(ctx, list, client.InNamespace(of.Object().GetNamespace()), of.machineLabels()); err != nil {
		return nil, fmt.Errorf("listing the Machines of %s: %w", Describe(of), err)
	}
	return list.Items, nil
}

// Machines of an owner, live, by name.
func (o *Owners) Machines(ctx context.Context, of Owner) ([]clusterv1.Machine, error) {
	list := &clusterv1.MachineList{}
	if err := o.Live.List(ctx, list, client.InNamespace(of.Object().GetNamespace()), of.machineLabels()); err != nil {
		return nil, fmt.Errorf("listing the Machines of %s: %w", Describe(of), err)
	}
	slices.SortFunc(list.Items, func(a, b clusterv1.Machine) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// ControlPlaneMachines are those of a Cluster, by name, whatever manages them.
func ControlPlaneMachines(ctx context.Context, reader client.Reader, namespace, cluster string) ([]clusterv1.Machine, error) {
	list := &clusterv1.MachineList{}
	err := reader.List(ctx, list, client.InNamespace(namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: cluster}, client.HasLabels{clusterv1.MachineControlPlaneLabel})
	if err != nil {
		return nil, fmt.Errorf("listing the Machines of the control plane of Cluster %s: %w", cluster, err)
	}
	slices.SortFunc(list.Items, func(a, b clusterv1.Machine) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// IsNodeNotReady reports whether the kubelet of a Machine says that its Node is not Ready. One that does not answer, or a Node that is gone, says nothing.
// Source: Cluster API 1.14.2, core/reconcilers/machine/machine_controller_status.go.
func IsNodeNotReady(machine *clusterv1.Machine) bool {
	return conditions.IsFalse(machine, clusterv1.MachineNodeReadyCondition) &&
		conditions.GetReason(machine, clusterv1.MachineNodeReadyCondition) == clusterv1.MachineNodeNotReadyReason
}

// IsUpdating reports whether Cluster API has marked a Machine, or its ElementalMachine, as being updated in place.
func IsUpdating(machine metav1.Object) bool {
	_, updating := machine.GetAnnotations()[clusterv1.UpdateInProgressAnnotation]
	return updating
}

// Made reports whether these are the labels of a Machine of an owner, or of its ElementalMachine.
func Made(of Owner, set map[string]string) bool {
	for label, value := range of.machineLabels() {
		if found, isSet := set[label]; !isSet || found != value {
			return false
		}
	}
	return true
}

// MadeFrom is the ElementalMachineTemplate whose content a machine was last created from or updated to, or empty.
func MadeFrom(machine *infrav1.ElementalMachine) string {
	kind := infrav1.GroupVersion.WithKind(ElementalMachineTemplateKind).GroupKind().String()
	if machine.Annotations[clusterv1.TemplateClonedFromGroupKindAnnotation] != kind {
		return ""
	}
	return machine.Annotations[clusterv1.TemplateClonedFromNameAnnotation]
}
