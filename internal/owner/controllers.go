// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=*,verbs=get

// Controllers are what controls a Machine, as far as it exists.
type Controllers struct {
	// MachineSet of the Machine, and the MachineDeployment that controls it.
	MachineSet *clusterv1.MachineSet
	Deployment *clusterv1.MachineDeployment
	// ControlPlane of the Machine, of any kind.
	ControlPlane *unstructured.Unstructured
}

// ControllersOf reads what controls a Machine. A reader with a cache starts to watch the kind of its control plane.
func ControllersOf(ctx context.Context, reader client.Reader, machine *clusterv1.Machine) (found Controllers, err error) {
	controller := metav1.GetControllerOf(machine)
	switch {
	case controller == nil:
		return Controllers{}, nil
	case controller.Kind != machineSetKind:
		found.ControlPlane, err = readControlPlane(ctx, reader, machine.Namespace, controller)
		return found, err
	}
	found.MachineSet, err = existing.Get(ctx, reader, &clusterv1.MachineSet{}, machine.Namespace, controller.Name)
	if err != nil || found.MachineSet == nil {
		return Controllers{}, err
	}
	if above := metav1.GetControllerOf(found.MachineSet); above != nil && above.Kind == MachineDeploymentKind {
		found.Deployment, err = existing.Get(ctx, reader, &clusterv1.MachineDeployment{}, machine.Namespace, above.Name)
	}
	return found, err
}

// readControlPlane reads the object that a reference of a Machine names; nil if it is no control plane, or absent.
func readControlPlane(ctx context.Context, reader client.Reader, namespace string, named *metav1.OwnerReference) (*unstructured.Unstructured, error) {
	version, err := schema.ParseGroupVersion(named.APIVersion)
	if err != nil || version.Group != controlplanev1.GroupVersion.Group {
		return nil, nil //nolint:nilerr // a reference of another form names no control plane
	}
	of := &unstructured.Unstructured{}
	of.SetGroupVersionKind(version.WithKind(named.Kind))
	switch err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: named.Name}, of); {
	case existing.IsAbsent(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %s: %w", named.Kind, named.Name, err)
	}
	return of, nil
}

// Paused says which of them is paused, and what to change; empty if none is.
func (c Controllers) Paused() string {
	switch {
	case c.Deployment != nil && ptr.Deref(c.Deployment.Spec.Paused, false):
		return fmt.Sprintf("%s %s is paused: unset its spec.paused", MachineDeploymentKind, c.Deployment.Name)
	case c.Deployment != nil && annotations.HasPaused(c.Deployment):
		return pausedByAnnotation(MachineDeploymentKind, c.Deployment)
	case c.MachineSet != nil && annotations.HasPaused(c.MachineSet):
		return pausedByAnnotation(machineSetKind, c.MachineSet)
	case c.ControlPlane != nil && annotations.HasPaused(c.ControlPlane):
		return pausedByAnnotation(c.ControlPlane.GetKind(), c.ControlPlane)
	}
	return ""
}

func pausedByAnnotation(kind string, of metav1.Object) string {
	return fmt.Sprintf("%s %s is paused: remove its annotation %s", kind, of.GetName(), clusterv1.PausedAnnotation)
}
