// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/drainwatch"
)

// watchDrain has the attempt woken by what leaves its Node. It comes before the Node is read, so that nothing leaves
// unnoticed in between, and reports whether it could be done: if not, the Node is polled.
func (r *Reconciler) watchDrain(ctx context.Context, o *observation, kinds ...drainwatch.Kind) bool {
	o.watched = append(o.watched, kinds...)
	return r.drains.Ensure(ctx, drainwatch.Drain{
		Request: o.reconcileRequest(), Cluster: o.clusterKey(), Node: o.node.Name, Open: o.workload.Watcher,
	}, pollPods, kinds...)
}

func (o *observation) reconcileRequest() ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o.upgrade)}
}

// poll is after how long a step looks again that waits for what is watched, or polled after a time where it is not.
func poll(isWatched bool, otherwise time.Duration) time.Duration {
	if isWatched {
		return pollWatched
	}
	return otherwise
}

// pollUntold is after how long a step looks again that waits for what no event on the Node tells of, such as a
// PodDisruptionBudget that allows no eviction, or a person. The longer it has waited, the less often it looks.
func (o *observation) pollUntold(step string) time.Duration {
	const tenth = 10
	return min(max(pollPods, o.now.Sub(o.enteredAt(step))/tenth), pollWatched)
}
