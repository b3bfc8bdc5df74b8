// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// controlPlaneMachines of the cluster, by name.
func (r *Reconciler) controlPlaneMachines(ctx context.Context, o *observation) ([]clusterv1.Machine, error) {
	machines := &clusterv1.MachineList{}
	err := r.Client.List(ctx, machines, client.InNamespace(o.upgrade.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: o.upgrade.Spec.ClusterName}, client.HasLabels{clusterv1.MachineControlPlaneLabel})
	if err != nil {
		return nil, fmt.Errorf("listing control plane Machines of Cluster %s: %w", o.upgrade.Spec.ClusterName, err)
	}
	slices.SortFunc(machines.Items, func(a, b clusterv1.Machine) int { return cmp.Compare(a.Name, b.Name) })
	return machines.Items, nil
}

// assessControlPlane waits for what KubeadmControlPlane says of the Machine, where it says anything, and then of the
// others: as soon as this Machine is through with its update KubeadmControlPlane looks for the next, and deletes it if
// it is the only unhealthy one.
func (r *Reconciler) assessControlPlane(ctx context.Context, o *observation) (string, error) {
	if !o.isControlPlane() {
		return "", nil
	}
	all, err := r.controlPlaneMachines(ctx, o)
	if err != nil {
		return "", err
	}
	return waitForControlPlane(o.machine, all), owner.LookAgain(ctx, r.Client, o.now, all)
}

func waitForControlPlane(machine *clusterv1.Machine, all []clusterv1.Machine) string {
	if unhealthy := owner.Unhealthy(machine); len(unhealthy) > 0 {
		return "waiting for condition " + unhealthy[0] + " of control plane Machine " + machine.Name
	}
	for i := range all {
		// One that is being deleted keeps KubeadmControlPlane from doing anything else.
		if all[i].Name == machine.Name || !all[i].DeletionTimestamp.IsZero() {
			continue
		}
		if unhealthy := owner.Unhealthy(&all[i]); len(unhealthy) > 0 {
			return "waiting for condition " + unhealthy[0] + " of control plane Machine " + all[i].Name +
				", which would be deleted otherwise: repair its node"
		}
	}
	return ""
}

// awaitControlPlane keeps a superseded attempt, and so the Machine in its update, until KubeadmControlPlane finds all
// Machines healthy: the next it does with an unhealthy one is to delete it.
func (r *Reconciler) awaitControlPlane(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.machineLeaves() {
		return sequence.Done(), nil
	}
	if waitFor, err := r.assessControlPlane(ctx, o); err != nil || waitFor != "" {
		return sequence.Wait(pollCluster, "%s", waitFor), err
	}
	return sequence.Done(), nil
}
