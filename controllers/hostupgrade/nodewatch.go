// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/enqueue"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
)

// watchNodes sees to it that an attempt is woken when a person resumes, or uncordons, its Node. The cache of Nodes is
// one that other controllers have already.
func (r *Reconciler) watchNodes(ctx context.Context, cluster client.ObjectKey) error {
	if r.Clusters == nil || r.controller == nil {
		return nil
	}
	err := r.Clusters.Watch(ctx, cluster, clustercache.NewWatcher(clustercache.WatcherOptions{
		Name:    controllerName + "-nodes",
		Watcher: r.controller,
		Kind:    &corev1.Node{},
		EventHandler: handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, node client.Object) []ctrl.Request {
			return r.attemptsOnNode(ctx, cluster, node.GetName())
		}),
		Predicates: []predicate.TypedPredicate[client.Object]{operated()},
	}))
	if err != nil && !errors.Is(err, clustercache.ErrClusterNotConnected) {
		return fmt.Errorf("watching the Nodes of Cluster %s: %w", cluster.Name, err)
	}
	return nil
}

// operated passes what people do to a Node before its upgrade. All Nodes of a cluster are created in its cache when it
// is connected, which wakes its attempts by itself.
func operated() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: predicates.Changed(func(node *corev1.Node) any {
			return []any{pausing.MarksOf(node), node.Spec.Unschedulable}
		}).UpdateFunc,
	}
}

// attemptsOnNode are those that can still change.
func (r *Reconciler) attemptsOnNode(ctx context.Context, cluster client.ObjectKey, node string) []ctrl.Request {
	found, err := attempts.OnNode(ctx, r.Client, cluster, node)
	return enqueue.Matching(ctx, found, err, func(attempt *infrav1.ElementalHostUpgrade) bool { return !attempts.IsHistory(attempt) })
}
