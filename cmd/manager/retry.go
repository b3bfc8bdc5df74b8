// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

const (
	// firstRetry and lastRetry are how long a reconcile that failed is put off: twice as long each time it fails again.
	// The default of controller-runtime ends at 1000 s, for which a drained node would wait after its API server is back.
	firstRetry = 5 * time.Millisecond
	lastRetry  = 25 * time.Second
	// retryJitter is by how much of that a retry is put off further, so that the attempts that one failure has stopped
	// do not all come back at once.
	retryJitter = 0.2
)

// workersPerProcessor of a controller are many, as a worker waits for API servers most of its time.
const workersPerProcessor = 10

// workers of one controller.
func (o *options) workers() int {
	if o.concurrency > 0 {
		return o.concurrency
	}
	return workersPerProcessor * runtime.GOMAXPROCS(0)
}

// limits are the options of one controller. Its retries are its own: two controllers may fail on objects of one name.
func (o *options) limits() controller.Options {
	return controller.Options{MaxConcurrentReconciles: o.workers(), RateLimiter: newRetries()}
}

// retries says when a reconcile that failed is tried again.
type retries struct {
	workqueue.TypedRateLimiter[ctrl.Request]
}

func newRetries() retries {
	return retries{workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](firstRetry, lastRetry)}
}

// When is at most 30 s.
func (r retries) When(of ctrl.Request) time.Duration {
	return wait.Jitter(r.TypedRateLimiter.When(of), retryJitter)
}
