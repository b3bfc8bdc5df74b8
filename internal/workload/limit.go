// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
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
	clock clock.PassiveClock

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
	// waiting are those that have not begun: first those of nodes that are being disrupted or deleted, and then in the order in which they first asked.
	waiting []visitor
}

// visitor is a request that may begin when less than that many are at the cluster.
type visitor struct {
	request ctrl.Request
	most    int
	// isLast says that it would only look.
	isLast bool
	// asked is when it last asked.
	asked time.Time
	// isWoken says that it was woken since. It keeps its place: another may begin before it is back.
	isWoken bool
}

const (
	// slowClusters is how many workload clusters may be slow to answer at the same time before those of others wait for a worker
	// of the same controller.
	slowClusters = 6
	// forgotten is after how long a request comes again by itself that is to be woken, and up to twice that: the one that was woken may be gone, and wakes no
	// other.
	forgotten = 10 * time.Second
	// gone is after how long one that has not asked again is gone.
	gone = 3 * forgotten
)

// LimitFor returns the Limit of a controller with that many workers. A reconcile that may not begin comes again when another has ended, see Source.
// Without that it is to come again after retry, which is longer than a reconcile takes at a cluster that is not slow, and up to twice that.
func LimitFor(workers int, retry time.Duration) *Limit {
	return NewLimit(max(1, workers/slowClusters), retry, clock.RealClock{})
}

// NewLimit returns a Limit of that many reconciles for each cluster.
func NewLimit(most int, retry time.Duration, clock clock.PassiveClock) *Limit {
	return &Limit{most: most, retry: retry, clock: clock, visits: map[client.ObjectKey]*visits{}}
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
	return l.begin(cluster, visitor{request: ctrl.Request{NamespacedName: object}, most: l.most})
}

// BeginLast is Begin for what would only look. Where more than one reconcile may be at a cluster, one of them is left to nodes
// that are being disrupted or deleted, which do not wait for luck.
func (l *Limit) BeginLast(cluster, object client.ObjectKey) (done func(), after time.Duration) {
	if l == nil {
		return func() {}, 0
	}
	return l.begin(cluster, visitor{request: ctrl.Request{NamespacedName: object}, most: max(1, l.most-1), isLast: true})
}

func (l *Limit) begin(cluster client.ObjectKey, who visitor) (done func(), after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.visits[cluster]
	if at == nil {
		at = &visits{}
		l.visits[cluster] = at
	}
	if at.active < who.most {
		at.waiting = slices.DeleteFunc(at.waiting, func(other visitor) bool { return other.request == who.request })
		at.active++
		return func() { l.end(cluster) }, 0
	}
	if l.queue == nil {
		return nil, wait.Jitter(l.retry, 1)
	}
	who.asked = l.clock.Now()
	at.wait(who)
	return nil, wait.Jitter(forgotten, 1)
}

// wait keeps the place of one that waits already, unless it has come to be disrupted or deleted, or is not any more.
func (v *visits) wait(who visitor) {
	place := slices.IndexFunc(v.waiting, func(other visitor) bool { return other.request == who.request })
	if place >= 0 && v.waiting[place].isLast == who.isLast {
		v.waiting[place] = who
		return
	}
	if place >= 0 {
		v.waiting = slices.Delete(v.waiting, place, place+1)
	}
	place = slices.IndexFunc(v.waiting, func(other visitor) bool { return other.isLast && !who.isLast })
	if place < 0 {
		place = len(v.waiting)
	}
	v.waiting = slices.Insert(v.waiting, place, who)
}

// end wakes as many as may begin then, and forgets those that are gone, and clusters that nothing is at or waits for.
func (l *Limit) end(cluster client.ObjectKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.visits[cluster]
	at.active--
	l.forget(l.clock.Now())
	coming := 0
	for i := range at.waiting {
		if who := &at.waiting[i]; !who.isWoken && at.active+coming < who.most {
			who.isWoken = true
			l.queue.Add(who.request)
			coming++
		}
	}
}

func (l *Limit) forget(now time.Time) {
	maps.DeleteFunc(l.visits, func(_ client.ObjectKey, at *visits) bool {
		at.waiting = slices.DeleteFunc(at.waiting, func(who visitor) bool { return now.Sub(who.asked) > gone })
		return at.active == 0 && len(at.waiting) == 0
	})
}
