// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

const (
	// lookers is how many Clusters are looked at for one template at a time: enough that a few which are slow to answer do not
	// keep all others waiting, and few enough that what is read of them fits into the memory.
	lookers = 8
	// lookTimeout is how long the look at one owner may take. A workload cluster that answers each call just in time takes some
	// 50 s; no owner of the template is moved before all have been looked at.
	lookTimeout = time.Minute
)

// looked is what was found of an owner before it is moved.
type looked struct {
	// cluster is nil where that is what it waits for.
	cluster *clusterv1.Cluster
	why     *waiting
	err     error
}

// lookAhead at owners; what is found is in their order. Those of one Cluster follow each other.
func (r *Reconciler) lookAhead(ctx context.Context, seen *observation, candidates []placed) []looked {
	found, byCluster := make([]looked, len(candidates)), map[string][]int{}
	for i, candidate := range candidates {
		byCluster[candidate.ClusterName()] = append(byCluster[candidate.ClusterName()], i)
	}
	group := errgroup.Group{}
	group.SetLimit(lookers)
	for _, those := range byCluster {
		group.Go(func() error {
			for _, i := range those {
				found[i] = r.look(ctx, seen, candidates[i])
			}
			return nil
		})
	}
	_ = group.Wait() // what is wrong is said of each
	return found
}

// look at an owner. A panic is an error of its own, as one of a reconcile is: it must not end the manager.
func (r *Reconciler) look(ctx context.Context, seen *observation, candidate placed) (found looked) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	defer func() {
		if failure := recover(); failure != nil {
			found.err = fmt.Errorf("panic: %v [recovered]", failure)
		}
	}()
	if found.cluster, found.why, found.err = r.clusterOf(ctx, seen, candidate); found.why == nil && found.err == nil {
		found.why = r.preflight(ctx, seen, candidate)
	}
	return found
}
