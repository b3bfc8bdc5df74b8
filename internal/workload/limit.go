// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Limit bounds how many reconciles of a controller are at the same workload cluster at a time. Each call to a cluster that
// is slow to answer keeps a worker for seconds: without a bound a few such clusters keep all of them, and the nodes of every
// other cluster wait. It is safe for concurrent use. A nil Limit bounds nothing.
type Limit struct {
	most  int
	retry time.Duration

	mu sync.Mutex
	// visits by cluster; none where nothing is at a cluster, or waits for it.
	visits map[client.ObjectKey]*visits
	// queue of the controller; nil without Source.
	queue workqueue.TypedRateLimitingInterface[ctrl.Request]
}

// visits of a cluster.
type visits struct {
	// active is how many reconciles are at it.
	active int
	// waiting are those that may not begin yet, in the order in which they asked.
	waiting []visitor
}

// visitor is a request that may begin when less than that many are at the cluster.
type visitor struct {
	request ctrl.Request
	most    int
}

const (
	// slowClusters is how many workload clusters may be slow to answer at the same time before those of others wait for a worker
	// of the same controller.
	slowClusters = 6
	// forgotten is after how long a request comes again by itself that is to be woken: one that was woken before it may have gone in the meantime, and wakes
	// no other.
	forgotten = 10 * time.Second
)

// LimitFor returns the Limit of a controller with that many workers. A reconcile that may not begin comes again when another has ended, see Source.
// Without that it is to come again after retry, which is longer than a reconcile takes at a cluster that is not slow, and up to twice that.
func LimitFor(workers int, retry time.Duration) *Limit {
	return NewLimit(max(1, workers/slowClusters), retry)
}

// NewLimit returns a Limit of that many reconciles for each cluster.
func NewLimit(most int, retry time.Duration) *Limit {
	return &Limit{most: most, retry: retry, visits: map[client.ObjectKey]*visits{}}
}

// Source has the Limit wake the requests of the controller that watches it.
func (l *Limit) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.queue = queue
		return nil
	})
}

// Begin reports whether the reconcile of an object may go to the cluster: done is to be called when it has ended. If not, done is nil,
// and the reconcile is to come again after that time.
func (l *Limit) Begin(cluster, object client.ObjectKey) (done func(), after time.Duration) {
	if l == nil {
		return func() {}, 0
	}
	return l.begin(cluster, visitor{ctrl.Request{NamespacedName: object}, l.most})
}

// BeginLast is Begin for what would only look. Where more than one reconcile may be at a cluster, one of them is left to nodes
// that are being disrupted or deleted, which do not wait for luck.
func (l *Limit) BeginLast(cluster, object client.ObjectKey) (done func(), after time.Duration) {
	if l == nil {
		return func() {}, 0
	}
	return l.begin(cluster, visitor{ctrl.Request{NamespacedName: object}, max(1, l.most-1)})
}

func (l *Limit) begin(cluster client.ObjectKey, who visitor) (done func(), after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.visits[cluster]
	if at == nil {
		at = &visits{}
		l.visits[cluster] = at
	}
	place := slices.IndexFunc(at.waiting, func(other visitor) bool { return other.request == who.request })
	if at.active < who.most {
		if place >= 0 {
			at.waiting = slices.Delete(at.waiting, place, place+1)
		}
		at.active++
		return func() { l.end(cluster) }, 0
	}
	if l.queue == nil {
		return nil, wait.Jitter(l.retry, 1)
	}
	if place < 0 {
		at.waiting = append(at.waiting, who)
	} else {
		at.waiting[place] = who
	}
	return nil, wait.Jitter(forgotten, 1)
}

// end wakes as many as may begin then, and forgets a cluster that nothing is at or waits for.
func (l *Limit) end(cluster client.ObjectKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.visits[cluster]
	at.active--
	woken := 0
	at.waiting = slices.DeleteFunc(at.waiting, func(who visitor) bool {
		if at.active+woken >= who.most {
			return false
		}
		woken++
		l.queue.Add(who.request)
		return true
	})
	if at.active == 0 && len(at.waiting) == 0 {
		delete(l.visits, cluster)
	}
}
