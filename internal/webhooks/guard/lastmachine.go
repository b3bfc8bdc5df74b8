// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=*,verbs=get

// lastMachine keeps controllers from deleting the last control plane Machine of a cluster, which a rollout of a control plane
// does that may have no Machine too many: its host is reset, and etcd with it. It is called only for deletions by service
// accounts, of control plane Machines with a Node whose infrastructure is an ElementalMachine: see config/webhook/guard.yaml.
type lastMachine struct{ guard *Guard }

// ValidateCreate accepts everything: it is not called.
func (v *lastMachine) ValidateCreate(context.Context, *clusterv1.Machine) (admission.Warnings, error) {
	return nil, nil
}

// ValidateUpdate accepts everything: it is not called.
func (v *lastMachine) ValidateUpdate(context.Context, *clusterv1.Machine, *clusterv1.Machine) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete rejects the deletion of the last Machine, unless the Cluster or the control plane is deleted with it, or
// Machines may be replaced.
func (v *lastMachine) ValidateDelete(ctx context.Context, machine *clusterv1.Machine) (admission.Warnings, error) {
	where, err := v.guard.isKept(ctx, machine)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("checking whether Machine %s is the last of its control plane: %w", machine.Name, err))
	}
	if where == "" {
		return nil, nil
	}
	return nil, apierrors.NewForbidden(clusterv1.GroupVersion.WithResource("machines").GroupResource(), machine.Name, errors.New(
		"it is the last control plane Machine with a healthy Node of Cluster "+machine.Spec.ClusterName+", and its host would be reset. "+
			"To let a controller replace it, set replacement: Allow in "+where+"; to delete it all the same, delete it yourself"))
}

// isKept returns where replacement can be allowed if the Machine must not be deleted, and an empty string if it may.
func (g *Guard) isKept(ctx context.Context, machine *clusterv1.Machine) (where string, err error) {
	isLast, err := g.isLast(ctx, machine)
	if err != nil || !isLast {
		return "", err
	}
	leaves, err := g.ownersLeave(ctx, machine)
	if err != nil || leaves {
		return "", err
	}
	options, where, err := owner.ClusterOptions(ctx, g.Owners.Live, machine.Namespace, machine.Spec.ClusterName)
	if err != nil || options.WithDefaults().Replacement == infrav1.ReplacementAllow {
		return "", client.IgnoreNotFound(err)
	}
	return where, nil
}

// isLast reports whether no other Machine of the cluster's control plane stays and has a Node that is not known to be unhealthy.
func (g *Guard) isLast(ctx context.Context, machine *clusterv1.Machine) (bool, error) {
	machines, err := owner.ControlPlaneMachines(ctx, g.Owners.Live, machine.Namespace, machine.Spec.ClusterName)
	return !slices.ContainsFunc(machines, func(other clusterv1.Machine) bool {
		return other.Name != machine.Name && other.DeletionTimestamp.IsZero() && other.Status.NodeRef.IsDefined() &&
			(!conditions.Has(&other, clusterv1.MachineNodeHealthyCondition) || conditions.IsTrue(&other, clusterv1.MachineNodeHealthyCondition))
	}), err
}

// ownersLeave reports whether the Machine's Cluster or control plane is being deleted, or gone.
func (g *Guard) ownersLeave(ctx context.Context, machine *clusterv1.Machine) (bool, error) {
	cluster, err := existing.Get(ctx, g.Owners.Live, &clusterv1.Cluster{}, machine.Namespace, machine.Spec.ClusterName)
	if err != nil || cluster == nil || !cluster.DeletionTimestamp.IsZero() {
		return err == nil, err
	}
	controller := metav1.GetControllerOf(machine)
	if controller == nil {
		return false, nil
	}
	controlPlane := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: controller.APIVersion, Kind: controller.Kind}}
	found, err := existing.Get(ctx, g.Owners.Live, controlPlane, machine.Namespace, controller.Name)
	if apierrors.IsForbidden(err) || meta.IsNoMatchError(err) { // of a kind that the manager may not read, or that is not served: it is not known to leave
		return false, nil
	}
	return err == nil && (found == nil || !found.DeletionTimestamp.IsZero()), err
}
