// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Limit bounds how many reconciles of a controller are at the same workload cluster at a time. Each call to a cluster that
// is slow to answer keeps a worker for seconds: without a bound a few such clusters keep all of them, and the nodes of every
// other cluster wait. It is safe for concurrent use. A nil Limit bounds nothing.
type Limit struct {
	most   int
	retry  time.Duration
	mu     sync.Mutex
	active map[client.ObjectKey]int
}

// slowClusters is how many workload clusters may be slow to answer at the same time before those of others wait for a worker
// of the same controller.
const slowClusters = 6

// LimitFor returns the Limit of a controller with that many workers. A reconcile that may not begin is to come again after
// retry, which is longer than a reconcile takes at a cluster that is not slow, and up to twice that.
func LimitFor(workers int, retry time.Duration) *Limit {
	return NewLimit(max(1, workers/slowClusters), retry)
}

// NewLimit returns a Limit of that many reconciles for each cluster.
func NewLimit(most int, retry time.Duration) *Limit {
	return &Limit{most: most, retry: retry, active: map[client.ObjectKey]int{}}
}

// Begin reports whether one more reconcile may go to the cluster: done is to be called when it has ended. If not, done is nil,
// and the reconcile is to come again after that time.
func (l *Limit) Begin(cluster client.ObjectKey) (done func(), after time.Duration) {
	if l == nil {
		return func() {}, 0
	}
	return l.begin(cluster, l.most)
}

// BeginLast is Begin for what would only look. Where more than one reconcile may be at a cluster, one of them is left to nodes
// that are being disrupted or deleted, which do not wait for luck.
func (l *Limit) BeginLast(cluster client.ObjectKey) (done func(), after time.Duration) {
	if l == nil {
		return func() {}, 0
	}
	return l.begin(cluster, max(1, l.most-1))
}

func (l *Limit) begin(cluster client.ObjectKey, most int) (done func(), after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active[cluster] >= most {
		return nil, wait.Jitter(l.retry, 1)
	}
	l.active[cluster]++
	return func() { l.end(cluster) }, 0
}

// end forgets clusters that nobody is at.
func (l *Limit) end(cluster client.ObjectKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active[cluster]--; l.active[cluster] == 0 {
		delete(l.active, cluster)
	}
}
