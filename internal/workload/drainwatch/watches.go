// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package drainwatch

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// beginsWithin is how long a watch may take to begin; a reconcile waits for it.
	beginsWithin = 5 * time.Second
	// retriedAfter is after how long a cluster in which a watch could not begin is asked for one again.
	retriedAfter = time.Minute
	// renewedAfter is how long a watch lives, so that one whose connection was lost without a sign does not live for ever.
	renewedAfter = 5 * time.Minute
	// mostDrains bounds the Nodes that are watched, with up to one connection each for each Kind. Others are polled.
	mostDrains = 500
)

// Drain is a Node that is being drained.
type Drain struct {
	// Request is woken.
	Request ctrl.Request
	// Cluster of the Node.
	Cluster client.ObjectKey
	Node    string
	// Open returns a client of the cluster whose watches may last.
	Open func() (client.WithWatch, error)
}

// Watches of the Nodes that a controller drains. The zero value is ready when its Source has been started. It may be used by
// many at once, but for one Request by one at a time, which is how a controller reconciles.
type Watches struct {
	// Clock is the time. Default: the real one.
	Clock clock.WithDelayedExecution

	mu     sync.Mutex
	ctx    context.Context
	queue  workqueue.TypedRateLimitingInterface[ctrl.Request]
	active map[ctrl.Request]*watched
	// failed is when a watch could not begin in a cluster.
	failed map[client.ObjectKey]time.Time
}

// Source is what the controller gets its requests from. All watches end when the controller does.
func (w *Watches) Source() source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.Clock == nil {
			w.Clock = clock.RealClock{}
		}
		w.ctx, w.queue = ctx, queue
		w.active, w.failed = map[ctrl.Request]*watched{}, map[client.ObjectKey]time.Time{}
		return nil
	})
}

// Ensure watches a Node for the kinds, besides those that are watched already, and reports whether it does. If so the Request
// is woken by whatever happens to them from when Ensure began, at most once every pace: what is read after Ensure cannot
// become outdated unnoticed. A watch that ends wakes it too, so that it begins again. If not, the caller has to poll.
func (w *Watches) Ensure(ctx context.Context, of Drain, pace time.Duration, kinds ...Kind) bool {
	on := w.watched(of)
	if on == nil {
		return false
	}
	on.setPace(pace)
	for _, kind := range kinds {
		if on.has(kind) {
			continue
		}
		if w.hasFailed(of.Cluster) {
			return false
		}
		if err := on.begin(of.Open, kind); err != nil {
			ctrl.LoggerFrom(ctx).V(2).Info("Failed to watch what is on a Node, polling instead", "Node", klog.KRef("", of.Node), "reason", err.Error())
			w.fail(of.Cluster)
			return false
		}
	}
	return true
}

// SetPace changes how often a Request is woken at most.
func (w *Watches) SetPace(request ctrl.Request, pace time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if on := w.active[request]; on != nil {
		on.setPace(pace)
	}
}

// Keep ends all watches for a Request but those of the kinds.
func (w *Watches) Keep(request ctrl.Request, kinds ...Kind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	on := w.active[request]
	switch {
	case on == nil:
	case len(kinds) == 0:
		on.end()
		delete(w.active, request)
	default:
		on.keep(kinds)
	}
}

// watched is what is watched for a Request; nil where nothing can be.
func (w *Watches) watched(of Drain) *watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil || w.ctx.Err() != nil {
		return nil
	}
	on := w.active[of.Request]
	if on != nil && on.node == of.Node {
		return on
	}
	if on != nil {
		on.end()
		delete(w.active, of.Request)
	}
	if len(w.active) >= mostDrains {
		return nil
	}
	w.active[of.Request] = newWatched(w.ctx, w.Clock, of.Node, func() { w.queue.Add(of.Request) })
	return w.active[of.Request]
}

func (w *Watches) hasFailed(cluster client.ObjectKey) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.failed, func(_ client.ObjectKey, at time.Time) bool { return w.Clock.Since(at) >= retriedAfter })
	_, failed := w.failed[cluster]
	return failed
}

func (w *Watches) fail(cluster client.ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed[cluster] = w.Clock.Now()
}
