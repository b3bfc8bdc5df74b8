// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// checkQuorum makes sure that etcd keeps its majority while a control plane node is down. A node counts when it is Ready
// and KubeadmControlPlane, where it is one, finds nothing wrong with it.
func (r *Reconciler) checkQuorum(ctx context.Context, o *observation) (infrav1.PreflightResult, error) {
	if !o.isControlPlane() {
		return pass(), nil
	}
	machines, err := r.controlPlaneMachines(ctx, o)
	if err != nil {
		return infrav1.PreflightResult{}, err
	}
	nodes, err := o.workload.Nodes(ctx)
	if err != nil {
		return infrav1.PreflightResult{}, err
	}
	unhealthy, majority := unhealthyOthers(machines, nodes, o.machine.Name), len(machines)/2+1
	if len(machines)-1-len(unhealthy) >= majority {
		return pass(), nil
	}
	message := fmt.Sprintf("has %d control plane nodes and etcd needs %d of them while this one is down", len(machines), majority)
	if len(unhealthy) > 0 {
		return block("Cluster/"+o.upgrade.Spec.ClusterName, message+", but "+strings.Join(unhealthy, ", ")+": bring them back first"), nil
	}
	return block("Cluster/"+o.upgrade.Spec.ClusterName, message+": only a control plane of 3 or more can be upgraded in place"), nil
}

// unhealthyOthers says of the other control plane Machines which cannot be counted on, and why, by name.
func unhealthyOthers(machines []clusterv1.Machine, nodes []corev1.Node, self string) []string {
	found := []string{}
	for i := range machines {
		if machines[i].Name == self {
			continue
		}
		isReady := slices.ContainsFunc(nodes, func(node corev1.Node) bool {
			return node.Name == machines[i].Status.NodeRef.Name && workload.IsReady(&node)
		})
		conditions := owner.Unhealthy(&machines[i])
		switch {
		case !isReady:
			found = append(found, "the Node of Machine "+machines[i].Name+" is not Ready")
		case len(conditions) > 0:
			found = append(found, "Machine "+machines[i].Name+" is not "+strings.Join(conditions, ", "))
		}
	}
	slices.Sort(found)
	return found
}

// controlPlaneMachines of the cluster, by name.
func (r *Reconciler) controlPlaneMachines(ctx context.Context, o *observation) ([]clusterv1.Machine, error) {
	machines, err := r.machines(ctx, o, client.HasLabels{clusterv1.MachineControlPlaneLabel})
	slices.SortFunc(machines, func(a, b clusterv1.Machine) int { return cmp.Compare(a.Name, b.Name) })
	return machines, err
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
