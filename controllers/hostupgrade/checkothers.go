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

// checkOtherNodes makes sure that the cluster does not lose a second node.
func (r *Reconciler) checkOtherNodes(ctx context.Context, o *observation) (infrav1.PreflightResult, error) {
	nodes, err := o.workload.Nodes(ctx)
	if err != nil {
		return infrav1.PreflightResult{}, err
	}
	machines, err := r.machines(ctx, o)
	if err != nil {
		return infrav1.PreflightResult{}, err
	}
	others := o.sortOthers(nodes, machines)
	if others.notReady, err = r.withoutReleased(ctx, o, others.notReady); err != nil {
		return infrav1.PreflightResult{}, err
	}
	switch {
	case len(others.notReady) > 0:
		return block("Node/"+names(others.notReady), "is not Ready: the cluster must not lose another node"), nil
	case len(others.strangers) > 0:
		return warn("Node/"+names(others.strangers), "is not Ready and belongs to no Machine: delete it if its host is gone"), nil
	case len(others.left) > 0:
		return warn("Node/"+names(others.left), fmt.Sprintf(
			"was left cordoned by ElementalHostUpgrade %s and takes no Pods from the node that is drained: give its Machine a good image, or kubectl uncordon it",
			cordoners(others.left))), nil
	case len(others.cordoned) > 0:
		return warn("Node/"+names(others.cordoned), "is cordoned and takes no Pods from the node that is drained"), nil
	}
	return pass(), nil
}

// otherNodes are those that are not as they should be.
type otherNodes struct {
	notReady []*corev1.Node
	// strangers are not Ready either, but do not count as nodes that the cluster has: a Node of no Machine is
	// what a lost host leaves that came back after its Machine was deleted, and Cluster API does not clean it up.
	strangers []*corev1.Node
	// left are cordoned by an attempt that has ended.
	left     []*corev1.Node
	cordoned []*corev1.Node
}

// sortOthers leaves out nodes whose attempts hold a slot: they are expected to be down, and counted there. An attempt
// that has given its slot back may have left its node cordoned, and that node may go down like any other.
func (o *observation) sortOthers(nodes []corev1.Node, machines []clusterv1.Machine) otherNodes {
	others := otherNodes{}
	for i := range nodes {
		node := &nodes[i]
		by := workload.CordonedBy(node)
		switch {
		case node.Name == o.node.Name || by != "" && o.isAdmitted(by):
		case !workload.IsReady(node) && !isNodeOfAny(node, machines):
			others.strangers = append(others.strangers, node)
		case !workload.IsReady(node):
			others.notReady = append(others.notReady, node)
		case by != "":
			others.left = append(others.left, node)
		case node.Spec.Unschedulable:
			others.cordoned = append(others.cordoned, node)
		}
	}
	return others
}

func (o *observation) isAdmitted(attempt string) bool {
	return o.elementalCluster != nil && holdsSlot(o.elementalCluster.Status.UpgradeSlots, attempt)
}

// withoutReleased leaves out nodes of lost hosts that a person has said not to wait for.
func (r *Reconciler) withoutReleased(ctx context.Context, o *observation, nodes []*corev1.Node) ([]*corev1.Node, error) {
	kept := []*corev1.Node{}
	for _, node := range nodes {
		name, _, cordoned := strings.Cut(workload.CordonedBy(node), "/")
		if !cordoned {
			kept = append(kept, node)
			continue
		}
		attempt, err := read(ctx, r.Client, &infrav1.ElementalHostUpgrade{}, o.upgrade.Namespace, name)
		if err != nil {
			return nil, err
		}
		if attempt == nil || attempt.Status.Phase != infrav1.UpgradeHostLost || !attempt.Spec.Release {
			kept = append(kept, node)
		}
	}
	return kept, nil
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

func names(nodes []*corev1.Node) string {
	return joined(nodes, func(node *corev1.Node) string { return node.Name })
}

// cordoners are the attempts that have cordoned the nodes.
func cordoners(nodes []*corev1.Node) string {
	return joined(nodes, func(node *corev1.Node) string {
		name, _, _ := strings.Cut(workload.CordonedBy(node), "/")
		return name
	})
}

func joined[T any](items []T, name func(T) string) string {
	all := make([]string, 0, len(items))
	for _, item := range items {
		all = append(all, name(item))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
