// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepause

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/enqueue"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	watching "github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
)

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(_ context.Context, mgr ctrl.Manager, options controller.Options) error {
	changed := builder.WithPredicates(markedChanged())
	toCluster, soon := handler.EnqueueRequestsFromMapFunc(memberToCluster), watching.AfterMoment(memberToCluster) // all Machines are looked at
	var err error
	r.controller, err = ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&clusterv1.Cluster{}, builder.WithPredicates(
			predicates.ResourceHasFilterLabel(mgr.GetScheme(), mgr.GetLogger(), r.WatchFilterValue),
			asked())).
		WithOptions(options).
		Watches(&infrav1.ElementalCluster{}, toCluster, builder.WithPredicates(asked())).
		Watches(&clusterv1.MachineDeployment{}, toCluster, changed).
		Watches(&clusterv1.Machine{}, soon, changed).
		Watches(&infrav1.ElementalMachine{}, soon, changed).
		Watches(&infrav1.ElementalHost{}, soon, changed).
		Watches(&infrav1.ElementalHostUpgrade{}, soon, changed).
		Watches(&infrav1.ElementalRollout{}, soon, changed).
		Watches(&infrav1.ElementalMachineTemplate{}, handler.EnqueueRequestsFromMapFunc(r.templateToClusters), changed).
		WatchesRawSource(r.Clusters.GetClusterSource(controllerName, clusterItself)).
		Build(r)
	if err != nil {
		return fmt.Errorf("building controller %s: %w", controllerName, err)
	}
	return owner.WatchControlPlanes(mgr, r.controller, toCluster, markedChanged())
}

// asked passes what people ask of a Cluster, and the labels by which it is the controller's and its ElementalCluster is
// its own: either may come later.
func asked() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{})
}

// memberToCluster maps an object that belongs to a Cluster to it.
func memberToCluster(_ context.Context, object client.Object) []reconcile.Request {
	cluster := clusterview.ClusterOf(object)
	if cluster.Name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: cluster}}
}

func clusterItself(_ context.Context, object client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
}

// templateToClusters maps a template to all Clusters of its namespace: whose owners refer to it is not in it, and there
// are few of them.
func (r *Reconciler) templateToClusters(ctx context.Context, object client.Object) []reconcile.Request {
	clusters := &clusterv1.ClusterList{}
	err := r.Client.List(ctx, clusters, client.InNamespace(object.GetNamespace()), client.UnsafeDisableDeepCopy)
	return enqueue.All(ctx, clusters.Items, err)
}

// nodeWatcher notices when somebody pauses or resumes a Node. It shares the cache of other watches of Nodes.
func (r *Reconciler) nodeWatcher(cluster client.ObjectKey) clustercache.Watcher {
	return clustercache.NewWatcher(clustercache.WatcherOptions{
		Name:    controllerName + "-nodes",
		Watcher: r.controller,
		Kind:    &corev1.Node{},
		EventHandler: handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: cluster}}
		}),
		Predicates: []predicate.TypedPredicate[client.Object]{markedChanged()},
	})
}
