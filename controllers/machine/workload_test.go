// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"sync"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
)

// workloadCache is a ClusterCache whose every workload cluster is the management cluster, and whose
// connections can be cut.
type workloadCache struct {
	clustercache.ClusterCache
	mgr    manager.Manager
	events chan event.GenericEvent

	mu      sync.Mutex
	cut     map[client.ObjectKey]bool
	watched map[client.ObjectKey]bool
}

func newWorkloadCache(mgr manager.Manager) *workloadCache {
	return &workloadCache{
		mgr:     mgr,
		events:  make(chan event.GenericEvent, 100),
		cut:     map[client.ObjectKey]bool{},
		watched: map[client.ObjectKey]bool{},
	}
}

func (w *workloadCache) GetClient(_ context.Context, cluster client.ObjectKey) (client.Client, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut[cluster] {
		return nil, clustercache.ErrClusterNotConnected
	}
	return w.mgr.GetClient(), nil
}

func (w *workloadCache) Watch(_ context.Context, cluster client.ObjectKey, watcher clustercache.Watcher) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut[cluster] {
		return clustercache.ErrClusterNotConnected
	}
	if w.watched[cluster] {
		return nil
	}
	w.watched[cluster] = true
	return watcher.Watch(w.mgr.GetCache())
}

func (w *workloadCache) GetClusterSource(_ string, mapFunc func(context.Context, client.Object) []ctrl.Request, _ ...clustercache.GetClusterSourceOption) source.Source {
	return source.Channel(w.events, handler.EnqueueRequestsFromMapFunc(mapFunc))
}

// connect cuts or restores the connection to a cluster.
func (w *workloadCache) connect(cluster client.ObjectKey, connected bool) {
	w.mu.Lock()
	w.cut[cluster] = !connected
	w.mu.Unlock()
	object := &clusterv1.Cluster{}
	object.Namespace, object.Name = cluster.Namespace, cluster.Name
	w.events <- event.GenericEvent{Object: object}
}
