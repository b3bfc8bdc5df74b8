// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/enqueue"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// hostToMachines maps a host to the machine it serves, to the machines that name it and, if it is free, to the
// machines that wait for one like it. A host that was lost and is registered again is named by a machine that it
// knows nothing of.
func (r *Reconciler) hostToMachines(ctx context.Context, object client.Object) []reconcile.Request {
	host, ok := object.(*infrav1.ElementalHost)
	if !ok {
		return nil
	}
	requests := r.machines(ctx, client.InNamespace(host.Namespace), client.MatchingFields{association.MachineHostIndex: host.Name})
	if ref := host.Spec.MachineRef; ref != nil {
		return append(requests, request(host.Namespace, ref.Name))
	}
	if !hoststate.Free(host) {
		return requests
	}
	return append(requests, r.waitingFor(ctx, host)...)
}

// waitingFor are the machines that wait for a host like this one.
func (r *Reconciler) waitingFor(ctx context.Context, host *infrav1.ElementalHost) []reconcile.Request {
	waiting := &infrav1.ElementalMachineList{}
	err := r.Client.List(ctx, waiting,
		client.InNamespace(host.Namespace),
		client.MatchingFields{association.WaitingMachineIndex: association.WaitingMachine},
		client.UnsafeDisableDeepCopy,
	)
	return enqueue.Matching(ctx, waiting.Items, err, func(machine *infrav1.ElementalMachine) bool {
		selector, err := association.Selector(machine)
		return err == nil && selector.Matches(association.VouchedLabels(host))
	})
}

// served names the machine that a host serves, which passes its registration's rules of signatures on where the cluster has none.
func served(host *infrav1.ElementalHost) types.NamespacedName {
	if host.Spec.MachineRef == nil {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: host.Namespace, Name: host.Spec.MachineRef.Name}
}

// templateToMachines maps a template to the machines made from it, whose update may be wanted again.
func (r *Reconciler) templateToMachines(ctx context.Context, object client.Object) []reconcile.Request {
	return r.machines(ctx, client.InNamespace(object.GetNamespace()), client.MatchingFields{clusterview.ByTemplate: object.GetName()})
}

func upgradeToMachine(_ context.Context, object client.Object) []reconcile.Request {
	upgrade, ok := object.(*infrav1.ElementalHostUpgrade)
	if !ok {
		return nil
	}
	return []reconcile.Request{request(upgrade.Namespace, upgrade.Spec.ElementalMachineName)}
}

// clusterToMachines maps a Cluster to its machines. When it is connected those that are ready are among them: the watch
// of the Nodes has gone with the former connection, and a machine adds it to the new one.
func (r *Reconciler) clusterToMachines(ctx context.Context, object client.Object) []reconcile.Request {
	return r.machinesOf(ctx, client.ObjectKeyFromObject(object))
}

// elementalClusterToMachines maps an ElementalCluster to all of its machines: whose signature images need, which they pass
// on to their hosts, and how long those that are being deleted wait for their hosts stand in it.
func (r *Reconciler) elementalClusterToMachines(ctx context.Context, object client.Object) []reconcile.Request {
	return r.machinesOf(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: object.GetLabels()[clusterv1.ClusterNameLabel]})
}

// rolloutToHostless maps a rollout to the machines of its Cluster that have no host: one may be claimed once the rollout is stopped no more.
func (r *Reconciler) rolloutToHostless(ctx context.Context, object client.Object) []reconcile.Request {
	return machinesMatching(ctx, clusterview.New(r.Client, clusterview.ClusterOf(object)), func(machine *infrav1.ElementalMachine) bool { return machine.Spec.HostRef == nil })
}

// machinesOf are all machines of a Cluster.
func (r *Reconciler) machinesOf(ctx context.Context, cluster client.ObjectKey) []reconcile.Request {
	return machinesMatching(ctx, clusterview.New(r.Client, cluster), func(*infrav1.ElementalMachine) bool { return true })
}

// machinesMatching are the machines of a Cluster that match.
func machinesMatching(ctx context.Context, view *clusterview.View, match func(*infrav1.ElementalMachine) bool) []reconcile.Request {
	machines, err := view.ElementalMachines(ctx)
	return enqueue.Matching(ctx, machines, err, match)
}

func (r *Reconciler) machines(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	machines := &infrav1.ElementalMachineList{}
	err := r.Client.List(ctx, machines, append(options, client.UnsafeDisableDeepCopy)...)
	return enqueue.All(ctx, machines.Items, err)
}

// nodeWatcher notices the Nodes of a workload cluster whose provider ID is not what it has to be. What
// else happens to a Node is no business of this controller's.
func (r *Reconciler) nodeWatcher(cluster client.ObjectKey) clustercache.Watcher {
	return clustercache.NewWatcher(clustercache.WatcherOptions{
		Name:    "elementalmachine-nodes",
		Watcher: r.controller,
		Kind:    &corev1.Node{},
		EventHandler: handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
			return r.nodeToMachines(ctx, cluster, object)
		}),
		Predicates: []predicate.TypedPredicate[client.Object]{nodeChanged()},
	})
}

func (r *Reconciler) nodeToMachines(ctx context.Context, cluster client.ObjectKey, object client.Object) []reconcile.Request {
	node, ok := object.(*corev1.Node)
	if !ok {
		return nil
	}
	requests := []reconcile.Request{}
	for _, name := range r.machinesOfNode(ctx, cluster, node.Name) {
		machine := &infrav1.ElementalMachine{}
		key := client.ObjectKey{Namespace: cluster.Namespace, Name: name}
		if err := r.Client.Get(ctx, key, machine, client.UnsafeDisableDeepCopy); err != nil {
			continue // one that comes is an event itself
		}
		settled := node.DeletionTimestamp.IsZero() && node.Spec.ProviderID == machine.Spec.ProviderID
		if !settled || !conditions.IsTrue(machine, infrav1.ProviderIDReadyCondition) {
			requests = append(requests, reconcile.Request{NamespacedName: key})
		}
	}
	return requests
}

// machinesOfNode are the names of the machines that look for a Node of this name, see nodeNames: mostly one. What makes another
// one look for it is an event of its host or its owner.
func (r *Reconciler) machinesOfNode(ctx context.Context, cluster client.ObjectKey, node string) []string {
	view := clusterview.New(r.Client, cluster)
	hosts, err := view.HostsNamed(ctx, node)
	owners, listErr := view.MachinesOn(ctx, node)
	if err := errors.Join(err, listErr); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to find the ElementalMachine of a Node", "Node", node)
		return nil
	}
	names := sets.New[string]()
	for i := range hosts {
		if ref := hosts[i].Spec.MachineRef; ref != nil {
			names.Insert(ref.Name)
		}
	}
	for i := range owners {
		names.Insert(owners[i].Spec.InfrastructureRef.Name)
	}
	return sets.List(names)
}
