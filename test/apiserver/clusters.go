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
