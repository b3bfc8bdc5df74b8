// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predrain

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/enqueue"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

const controllerName = "predrain"

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(_ context.Context, mgr ctrl.Manager, options controller.Options) error {
	r.limit = workload.LimitFor(options.MaxConcurrentReconciles, crowded)
	var err error
	r.controller, err = ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&clusterv1.Machine{}, builder.WithPredicates(predicates.Changed(seenOfMachine))).
		WithOptions(options).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.clusterToMachines), builder.WithPredicates(predicates.Changed(seenOfCluster))).
		Watches(&infrav1.ElementalMachine{}, handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &clusterv1.Machine{}),
			builder.WithPredicates(predicates.Changed(seenOfOwn))).
		WatchesRawSource(r.Clusters.GetClusterSource(controllerName, r.clusterToMachines)).
		WatchesRawSource(r.limit.Source()).
		Build(r)
	if err != nil {
		return fmt.Errorf("building controller %s: %w", controllerName, err)
	}
	return nil
}

func seenOfMachine(machine *clusterv1.Machine) any {
	return []any{machine.Status.NodeRef.Name, machine.DeletionTimestamp.IsZero(), hasHook(machine), isExcluded(machine),
		machine.Annotations[clusterv1.PausedAnnotation], machine.Generation}
}

// seenOfCluster is what can end the wait of its Machines at once.
func seenOfCluster(cluster *clusterv1.Cluster) any {
	return []any{cluster.DeletionTimestamp.IsZero(), ptr.Deref(cluster.Spec.Paused, false)}
}

// seenOfOwn is whose Machine it is: the label may come later, as the ElementalMachine itself.
func seenOfOwn(own *infrav1.ElementalMachine) any { return own.GetLabels()[clusterv1.WatchLabel] }

// clusterToMachines maps a Cluster to its Machines.
func (r *Reconciler) clusterToMachines(ctx context.Context, object client.Object) []reconcile.Request {
	machines, err := clusterview.New(r.Client, client.ObjectKeyFromObject(object)).Machines(ctx)
	return enqueue.Matching(ctx, machines, err, isElemental)
}

// nodeToMachines maps a Node of a Cluster to its Machine.
func (r *Reconciler) nodeToMachines(ctx context.Context, cluster client.ObjectKey, node string) []reconcile.Request {
	machines, err := clusterview.New(r.Client, cluster).MachinesOn(ctx, node)
	return enqueue.Matching(ctx, machines, err, isElemental)
}

func isElemental(machine *clusterv1.Machine) bool {
	return association.NamesElementalMachine(machine.Spec.InfrastructureRef)
}

// watchNodes sees to it that a resident that comes to a Node is noticed. It shares the cache of other watches of Nodes.
func (r *Reconciler) watchNodes(ctx context.Context, s *scope) error {
	if r.controller == nil || s.workload == nil {
		return nil
	}
	cluster := client.ObjectKeyFromObject(s.cluster)
	if err := r.Clusters.Watch(ctx, cluster, r.nodeWatcher(cluster, s.workload.Residents())); err != nil {
		return fmt.Errorf("watching the Nodes of Cluster %s: %w", s.cluster.Name, err)
	}
	return nil
}

func (r *Reconciler) nodeWatcher(cluster client.ObjectKey, residents workload.Residents) clustercache.Watcher {
	return clustercache.NewWatcher(clustercache.WatcherOptions{
		Name:    controllerName + "-nodes",
		Watcher: r.controller,
		Kind:    &corev1.Node{},
		EventHandler: handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, node client.Object) []reconcile.Request {
			return r.nodeToMachines(ctx, cluster, node.GetName())
		}),
		Predicates: []predicate.TypedPredicate[client.Object]{labelChanged(residents)},
	})
}

// labelChanged passes a Node that a resident has come to, come back to, or left, and one that stopped answering or went.
func labelChanged(residents workload.Residents) predicate.Funcs {
	return predicates.Changed(func(node *corev1.Node) any {
		seen := []any{workload.IsUnreachable(node)}
		for _, resident := range residents {
			value, labelled := node.Labels[resident.NodeLabel()]
			seen = append(seen, labelled, value)
		}
		return seen
	})
}
