// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// checkOtherNodes makes sure that the cluster does not lose a second node. It leaves out nodes that an
// attempt of ours has cordoned: they are expected to be down. A Node of no Machine does not count as one
// that the cluster has: it is what a lost host leaves that came back after its Machine was deleted, and
// Cluster API does not clean it up.
func (r *Reconciler) checkOtherNodes(ctx context.Context, o *observation) (infrav1.PreflightResult, error) {
	nodes, err := o.workload.Nodes(ctx)
	if err != nil {
		return infrav1.PreflightResult{}, err
	}
	machines, err := r.machines(ctx, o)
	if err != nil {
		return infrav1.PreflightResult{}, err
	}
	notReady, strangers, cordoned := sortOthers(nodes, machines, o.node.Name)
	switch {
	case len(notReady) > 0:
		return block("Node/"+join(notReady), "is not Ready: the cluster must not lose another node"), nil
	case len(strangers) > 0:
		return warn("Node/"+join(strangers), "is not Ready and belongs to no Machine: delete it if its host is gone"), nil
	case len(cordoned) > 0:
		return warn("Node/"+join(cordoned), "is cordoned and takes no Pods from the node that is drained"), nil
	}
	return pass(), nil
}

// sortOthers names the other nodes that are not as they should be.
func sortOthers(nodes []corev1.Node, machines []clusterv1.Machine, self string) (notReady, strangers, cordoned []string) {
	for i := range nodes {
		node := &nodes[i]
		switch {
		case node.Name == self || workload.CordonedBy(node) != "":
		case !workload.IsReady(node) && !isNodeOfAny(node, machines):
			strangers = append(strangers, node.Name)
		case !workload.IsReady(node):
			notReady = append(notReady, node.Name)
		case node.Spec.Unschedulable:
			cordoned = append(cordoned, node.Name)
		}
	}
	return notReady, strangers, cordoned
}

// isNodeOfAny says whether a Node is that of one of the Machines. One that is new has no nodeRef yet.
func isNodeOfAny(node *corev1.Node, machines []clusterv1.Machine) bool {
	return slices.ContainsFunc(machines, func(machine clusterv1.Machine) bool {
		return machine.Status.NodeRef.Name == node.Name ||
			machine.Spec.ProviderID != "" && machine.Spec.ProviderID == node.Spec.ProviderID
	})
}

// machines of the cluster.
func (r *Reconciler) machines(ctx context.Context, o *observation, options ...client.ListOption) ([]clusterv1.Machine, error) {
	machines := &clusterv1.MachineList{}
	options = append(options, client.InNamespace(o.upgrade.Namespace), client.MatchingLabels{
		clusterv1.ClusterNameLabel: o.upgrade.Spec.ClusterName,
	})
	if err := r.Client.List(ctx, machines, options...); err != nil {
		return nil, fmt.Errorf("listing Machines of Cluster %s: %w", o.upgrade.Spec.ClusterName, err)
	}
	return machines.Items, nil
}

// checkQuorum makes sure that etcd keeps its majority while a control plane node is down.
func (r *Reconciler) checkQuorum(ctx context.Context, o *observation) (infrav1.PreflightResult, error) {
	if !o.isControlPlane() {
		return pass(), nil
	}
	machines, err := r.machines(ctx, o, client.HasLabels{clusterv1.MachineControlPlaneLabel})
	if err != nil {
		return infrav1.PreflightResult{}, err
	}
	nodes, err := o.workload.Nodes(ctx)
	if err != nil {
		return infrav1.PreflightResult{}, err
	}
	others, majority := readyOthers(machines, nodes, o.machine.Name), len(machines)/2+1
	if others >= majority {
		return pass(), nil
	}
	return block("Cluster/"+o.upgrade.Spec.ClusterName, fmt.Sprintf(
		"has %d other control plane nodes Ready and etcd needs %d of %d: bring them back first", others, majority, len(machines))), nil
}

func readyOthers(machines []clusterv1.Machine, nodes []corev1.Node, self string) int {
	ready := 0
	for i := range machines {
		if machines[i].Name == self {
			continue
		}
		if slices.ContainsFunc(nodes, func(node corev1.Node) bool {
			return node.Name == machines[i].Status.NodeRef.Name && workload.IsReady(&node)
		}) {
			ready++
		}
	}
	return ready
}

func join(names []string) string {
	slices.Sort(names)
	return strings.Join(names, ", ")
}
