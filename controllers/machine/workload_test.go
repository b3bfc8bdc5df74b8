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

	mu  sync.Mutex
	cut map[client.ObjectKey]bool
	// watched are the clusters whose present connection is watched, and added those whose watch was added once: one of
	// the management cluster's cache cannot be taken back.
	watched, added map[client.ObjectKey]bool
}

func newWorkloadCache(mgr manager.Manager) *workloadCache {
	return &workloadCache{
		mgr:     mgr,
		events:  make(chan event.GenericEvent, 100),
		cut:     map[client.ObjectKey]bool{},
		watched: map[client.ObjectKey]bool{},
		added:   map[client.ObjectKey]bool{},
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
	w.watched[cluster] = true
	if w.added[cluster] {
		return nil
	}
	w.added[cluster] = true
	return watcher.Watch(w.mgr.GetCache())
}

// watches reports whether the present connection to a cluster is watched, for Eventually.
func (w *workloadCache) watches(cluster client.ObjectKey) func() bool {
	return func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.watched[cluster]
	}
}

func (w *workloadCache) GetClusterSource(_ string, mapFunc func(context.Context, client.Object) []ctrl.Request, _ ...clustercache.GetClusterSourceOption) source.Source {
	return source.Channel(w.events, handler.EnqueueRequestsFromMapFunc(mapFunc))
}

// connect cuts or restores the connection to a cluster. Its watches go with it, as those of Cluster API's do.
func (w *workloadCache) connect(cluster client.ObjectKey, connected bool) {
	w.mu.Lock()
	w.cut[cluster] = !connected
	delete(w.watched, cluster)
	w.mu.Unlock()
	object := &clusterv1.Cluster{}
	object.Namespace, object.Name = cluster.Namespace, cluster.Name
	w.events <- event.GenericEvent{Object: object}
}
