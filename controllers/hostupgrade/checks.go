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

func checkQuarantine(_ context.Context, o *observation) (infrav1.PreflightResult, error) {
	digest := o.digest()
	host, quarantined, err := quarantinedBy(o.elementalCluster, digest)
	if err != nil {
		return block("ElementalCluster/"+o.elementalCluster.Name, err.Error()), nil
	}
	if !quarantined {
		return pass(), nil
	}
	return block("Image/"+digest, quarantineMessage(o, host)), nil
}

func checkOtherAttempt(_ context.Context, o *observation) (infrav1.PreflightResult, error) {
	if o.rival == nil {
		return pass(), nil
	}
	return block("ElementalHostUpgrade/"+o.rival.Name,
		"is an unfinished attempt on the same host: wait for its end, or set its spec.cancel"), nil
}

func checkNodeReady(_ context.Context, o *observation) (infrav1.PreflightResult, error) {
	if workload.IsReady(o.node) {
		return pass(), nil
	}
	return block("Node/"+o.node.Name, "is not Ready: bring it back before it is upgraded"), nil
}

func checkNodeSchedulable(_ context.Context, o *observation) (infrav1.PreflightResult, error) {
	if !o.node.Spec.Unschedulable || workload.CordonedBy(o.node) == o.attempt {
		return pass(), nil
	}
	return block("Node/"+o.node.Name, "was cordoned by someone else and is left alone: kubectl uncordon it to let its upgrade start"), nil
}

// checkOtherNodes leaves out nodes that an attempt of ours has cordoned: they are expected to be down.
func checkOtherNodes(ctx context.Context, o *observation) (infrav1.PreflightResult, error) {
	nodes, err := o.workload.Nodes(ctx)
	if err != nil {
		return infrav1.PreflightResult{}, err
	}
	notReady, cordoned := []string{}, []string{}
	for i := range nodes {
		node := &nodes[i]
		switch {
		case node.Name == o.node.Name || workload.CordonedBy(node) != "":
		case !workload.IsReady(node):
			notReady = append(notReady, node.Name)
		case node.Spec.Unschedulable:
			cordoned = append(cordoned, node.Name)
		}
	}
	if len(notReady) > 0 {
		return block("Node/"+join(notReady), "is not Ready: the cluster must not lose another node"), nil
	}
	if len(cordoned) > 0 {
		return warn("Node/"+join(cordoned), "is cordoned and takes no Pods from the node that is drained"), nil
	}
	return pass(), nil
}

// checkQuorum makes sure that etcd keeps its majority while a control plane node is down.
func (r *Reconciler) checkQuorum(ctx context.Context, o *observation) (infrav1.PreflightResult, error) {
	if !o.isControlPlane() {
		return pass(), nil
	}
	machines := &clusterv1.MachineList{}
	if err := r.Client.List(ctx, machines, client.InNamespace(o.upgrade.Namespace), client.MatchingLabels{
		clusterv1.ClusterNameLabel: o.upgrade.Spec.ClusterName,
	}, client.HasLabels{clusterv1.MachineControlPlaneLabel}); err != nil {
		return infrav1.PreflightResult{}, fmt.Errorf("listing control plane Machines: %w", err)
	}
	nodes, err := o.workload.Nodes(ctx)
	if err != nil {
		return infrav1.PreflightResult{}, err
	}
	others, majority := readyOthers(machines.Items, nodes, o.machine.Name), len(machines.Items)/2+1
	if others >= majority {
		return pass(), nil
	}
	return block("Cluster/"+o.upgrade.Spec.ClusterName, fmt.Sprintf(
		"has %d other control plane nodes Ready and etcd needs %d of %d: bring them back first", others, majority, len(machines.Items))), nil
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

func checkKubeletVersion(_ context.Context, o *observation) (infrav1.PreflightResult, error) {
	runs, wants := o.node.Status.NodeInfo.KubeletVersion, o.machine.Spec.Version
	if wants == "" || runs == wants {
		return pass(), nil
	}
	return warn("Node/"+o.node.Name, fmt.Sprintf(
		"runs kubelet %s and Machine %s wants %s: the upgrade ends only if the image brings %s", runs, o.machine.Name, wants, wants)), nil
}

// checkFreeSpace compares what the host measured when it prepared. The elemental CLI itself reports
// success after it has filled the state partition (Harvester issues 7457 and 10687).
func checkFreeSpace(_ context.Context, o *observation) (infrav1.PreflightResult, error) {
	report := o.hostReport()
	if report.FreeBytes == 0 || report.ImageBytes == 0 || report.FreeBytes >= report.ImageBytes {
		return pass(), nil
	}
	const mebibyte = 1 << 20
	return block("ElementalHost/"+o.host.Name, fmt.Sprintf(
		"has %d MiB free on its state partition and the image takes at least %d MiB: free some, or delete snapshots",
		report.FreeBytes/mebibyte, report.ImageBytes/mebibyte)), nil
}

func join(names []string) string {
	slices.Sort(names)
	return strings.Join(names, ", ")
}
