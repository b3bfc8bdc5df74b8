// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// forgottenAfter is how long the Services of a cluster are kept that nobody asks for.
const forgottenAfter = time.Minute

// recent are the Services of the clusters that were read of late, by the key of their Cluster.
type recent struct {
	mu   sync.Mutex
	each map[client.ObjectKey]*reading
}

// reading is one cluster's. Whoever holds its lock reads for all that wait for it, which they do no longer than they have time:
// a webhook has to answer before its caller gives up.
type reading struct {
	lock *semaphore.Weighted
	at   time.Time
	of   Services
}

// isWithin reports whether what was read can be used. A clock that was set back makes everything too old.
func (r *reading) isWithin(age time.Duration, now time.Time) bool {
	return !r.at.IsZero() && now.Sub(r.at) < age && !now.Before(r.at)
}

// reading of a cluster, which the caller locks. Those of clusters in which nothing goes on any more are forgotten.
func (r *recent) reading(cluster client.ObjectKey, now time.Time) *reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.each, func(key client.ObjectKey, of *reading) bool {
		if key == cluster || !of.lock.TryAcquire(1) {
			return false
		}
		defer of.lock.Release(1)
		return !of.isWithin(forgottenAfter, now)
	})
	if r.each == nil {
		r.each = map[client.ObjectKey]*reading{}
	}
	if r.each[cluster] == nil {
		r.each[cluster] = &reading{lock: semaphore.NewWeighted(1)}
	}
	return r.each[cluster]
}

// services of a cluster, as old as they may be.
func (r *Reader) services(ctx context.Context, from Sources, nodes []corev1.Node) (Services, error) {
	cluster := client.ObjectKeyFromObject(from.Cluster)
	in := &optional{Asking: workload.Asking{Client: from.Workload.Live()}, cluster: cluster, absent: &r.absent, now: from.Now, residents: from.Workload.Residents()}
	for i := range nodes {
		if !workload.IsReady(&nodes[i]) {
			in.notReady++
		}
	}
	last := r.recent.reading(cluster, from.Now)
	if err := last.lock.Acquire(ctx, 1); err != nil {
		return Services{}, fmt.Errorf("waiting for others to look at the workload cluster: %w", err)
	}
	defer last.lock.Release(1)
	if last.isWithin(from.MaxAge, from.Now) {
		return refreshed(ctx, in, last.of)
	}
	of := Services{}
	for _, read := range []func(context.Context, *optional, *Services) error{
		readResidents, readJobs, readForeign, readUnhealthy,
	} {
		if err := read(ctx, in, &of); err != nil {
			return Services{}, err
		}
	}
	last.at, last.of = from.Now, of
	return of, nil
}

func readResidents(ctx context.Context, in *optional, s *Services) error {
	s.Residents, s.States = in.residents, map[string]workload.State{}
	for _, resident := range in.residents {
		state, err := resident.Read(ctx, in)
		if err != nil {
			return err
		}
		if state != nil {
			s.States[resident.Name()] = state
		}
	}
	return nil
}

func readUnhealthy(ctx context.Context, in *optional, s *Services) (err error) {
	s.Unhealthy, err = workload.UnhealthyOnNodes(ctx, in, in.notReady, in.now)
	return err
}

// refreshed are Services that were read before, with what residents have to know at the moment. They are asked in their
// order, so that of several errors the same one is told each time.
func refreshed(ctx context.Context, in *optional, of Services) (Services, error) {
	states := map[string]workload.State{}
	for _, resident := range of.Residents {
		state, found := of.States[resident.Name()]
		if !found {
			continue
		}
		fresh, err := state.Refreshed(ctx, in)
		if err != nil {
			return Services{}, err
		}
		states[resident.Name()] = fresh
	}
	of.States = states
	return of, nil
}
