// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// deleteNode deletes the Node of a host that leaves. Cluster API has deleted the one of its Machine, but a
// host that was away then has come back with its kubelet's credentials and has registered it again.
func (r *Reconciler) deleteNode(ctx context.Context, host *infrav1.ElementalHost, cluster *clusterv1.Cluster) deletionWait {
	if cluster == nil || !cluster.DeletionTimestamp.IsZero() {
		return deletionWait{}
	}
	done, after := r.limit.Begin(client.ObjectKeyFromObject(cluster), client.ObjectKeyFromObject(host))
	if done == nil {
		return deletionWait{
			waits: "Other hosts that leave Cluster " + cluster.Name + " are waited for",
			after: after, reason: infrav1.NodeNotDeletedReason,
		}
	}
	defer done()
	err := r.deleteNodeOf(ctx, host, cluster)
	if err == nil || r.deletedFor(host) >= nodePatience {
		return deletionWait{}
	}
	ctrl.LoggerFrom(ctx).V(2).Info("Waiting for the workload cluster to delete the Node of a host", "ElementalHost", klog.KObj(host), "reason", err.Error())
	return deletionWait{
		waits: "The Node of the host cannot be deleted: " + workload.Unreached(cluster.Name, err),
		after: pollWorkload, reason: infrav1.NodeNotDeletedReason,
	}
}

func (r *Reconciler) deleteNodeOf(ctx context.Context, host *infrav1.ElementalHost, cluster *clusterv1.Cluster) error {
	remote, err := r.Workload.Connect(ctx, client.ObjectKeyFromObject(cluster))
	if err != nil {
		return err
	}
	names, err := namesOfNodes(ctx, remote, host)
	if err != nil {
		return err
	}
	for _, name := range names {
		node, err := remote.Node(ctx, name)
		if err != nil {
			return err
		}
		if node == nil || !isNodeOf(node, host) {
			continue
		}
		serves, err := r.isMachines(ctx, node, cluster)
		if err != nil {
			return err
		}
		if serves {
			continue
		}
		ctrl.LoggerFrom(ctx).Info("Deleting the Node of a host that is reset", "Node", klog.KObj(node), "ElementalHost", klog.KObj(host))
		if err := remote.Delete(ctx, node); err != nil {
			return err
		}
	}
	return nil
}

// namesOfNodes that may be the host's: the names under which it registers, which the cache may not have heard of and which show
// that the cluster answers, and those that the cache has of it.
func namesOfNodes(ctx context.Context, remote *workload.Cluster, host *infrav1.ElementalHost) ([]string, error) {
	known, err := remote.CachedNodes(ctx)
	if err != nil {
		return nil, err
	}
	names := sets.New(host.Name)
	for _, address := range host.Status.Addresses {
		if address.Type == clusterv1.MachineHostName {
			names.Insert(address.Address)
		}
	}
	for i := range known {
		if isNodeOf(&known[i], host) {
			names.Insert(known[i].Name)
		}
	}
	return sets.List(names), nil
}

// isNodeOf reports whether a Node is the host's: it has its provider ID or, registered again, none yet and the
// host's last boot or name.
func isNodeOf(node *corev1.Node, host *infrav1.ElementalHost) bool {
	if node.Spec.ProviderID != "" {
		return node.Spec.ProviderID == association.ProviderID(host)
	}
	booted := host.Status.OS.BootID
	return node.Name == host.Name || booted != "" && node.Status.NodeInfo.BootID == booted
}

// isMachines reports whether the Node belongs to a Machine that stays.
func (r *Reconciler) isMachines(ctx context.Context, node *corev1.Node, cluster *clusterv1.Cluster) (bool, error) {
	machines, err := clusterview.New(r.Client, client.ObjectKeyFromObject(cluster)).MachinesOn(ctx, node.Name)
	return slices.ContainsFunc(machines, func(machine clusterv1.Machine) bool { return machine.DeletionTimestamp.IsZero() }), err
}
