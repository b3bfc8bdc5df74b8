// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"

	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// SilentClusters is a ClusterCache without events, so that every reconcile of a controller has another cause.
type SilentClusters struct{ clustercache.ClusterCache }

// Watch never triggers a reconcile.
func (SilentClusters) Watch(context.Context, client.ObjectKey, clustercache.Watcher) error {
	return nil
}

// GetClusterSource never has an event.
func (SilentClusters) GetClusterSource(string, func(context.Context, client.Object) []ctrl.Request, ...clustercache.GetClusterSourceOption) source.Source {
	return source.Channel(make(chan event.GenericEvent), &handler.EnqueueRequestForObject{})
}

// SlowClusters are workload clusters, one of which does not answer before a call ends. No other is connected.
type SlowClusters struct {
	SilentClusters
	// Held are the calls for the slow one, and Rest those for the others.
	Held, Rest chan client.ObjectKey

	slow client.ObjectKey
}

// NewSlowClusters returns SlowClusters with the slow one.
func NewSlowClusters(slow client.ObjectKey) *SlowClusters {
	const calls = 10000
	return &SlowClusters{slow: slow, Held: make(chan client.ObjectKey, calls), Rest: make(chan client.ObjectKey, calls)}
}

// Connect does not answer for the slow one.
func (s *SlowClusters) Connect(ctx context.Context, cluster client.ObjectKey) (*workload.Cluster, error) {
	return nil, s.call(ctx, cluster, workload.ErrUnreachable)
}

// GetClient does not answer for the slow one.
func (s *SlowClusters) GetClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error) {
	return nil, s.call(ctx, cluster, clustercache.ErrClusterNotConnected)
}

func (s *SlowClusters) call(ctx context.Context, cluster client.ObjectKey, unconnected error) error {
	if cluster != s.slow {
		s.Rest <- cluster
		return unconnected
	}
	s.Held <- cluster
	<-ctx.Done()
	return ctx.Err()
}
