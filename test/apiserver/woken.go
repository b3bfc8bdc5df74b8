// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// atOnce is longer than a reconciler waits to see its own writes, and shorter than it waits to look for what nothing wakes it for.
const atOnce = 2 * time.Second

// OnlyWoken are options of a controller that never looks again by itself: what a spec waits for happens because an event woke the
// controller, however long that took.
func OnlyWoken() controller.Options {
	return controller.Options{NewQueue: func(_ string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		return wokenQueue{workqueue.NewTypedRateLimitingQueue(limiter)}
	}}
}

// wokenQueue drops requests that are for later.
type wokenQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// AddAfter adds a request, unless it is for later.
func (q wokenQueue) AddAfter(request reconcile.Request, after time.Duration) {
	if after <= atOnce {
		q.TypedRateLimitingInterface.AddAfter(request, after)
	}
}
