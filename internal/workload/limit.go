// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Limit bounds how many reconciles of a controller are at the same workload cluster at a time. Each call to a cluster that
// is slow to answer keeps a worker for seconds: without a bound a few such clusters keep all of them, and the nodes of every
// other cluster wait. It is safe for concurrent use. A nil Limit bounds nothing.
type Limit struct {
	most   int
	mu     sync.Mutex
	active map[client.ObjectKey]int
}

// slowClusters is how many workload clusters may be slow to answer at the same time before those of others wait for a worker
// of the same controller.
const slowClusters = 6

// LimitFor returns the Limit of a controller with that many workers.
func LimitFor(workers int) *Limit { return NewLimit(max(1, workers/slowClusters)) }

// NewLimit returns a Limit of that many reconciles for each cluster.
func NewLimit(most int) *Limit { return &Limit{most: most, active: map[client.ObjectKey]int{}} }

// Begin says whether one more reconcile may go to the cluster. If so, done is to be called when it has ended.
func (l *Limit) Begin(cluster client.ObjectKey) (done func(), ok bool) {
	if l == nil {
		return func() {}, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active[cluster] >= l.most {
		return nil, false
	}
	l.active[cluster]++
	return func() { l.end(cluster) }, true
}

// end forgets clusters that nobody is at.
func (l *Limit) end(cluster client.ObjectKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active[cluster]--; l.active[cluster] == 0 {
		delete(l.active, cluster)
	}
}
