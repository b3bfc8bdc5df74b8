// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"slices"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/drainwatch"
)

// drain evicts the Pods of the node, as Cluster API would: ordinary ones, and then those that serve their volumes. Those of the only
// Node of a cluster are left to the graceful shutdown of its kubelet, and their volumes stay attached.
func (r *Reconciler) drain(ctx context.Context, o *observation) (sequence.Result, error) {
	if keepsPods, err := r.keepsPods(ctx, o); err != nil || keepsPods {
		return sequence.Done(), err
	}
	isWatched := r.watchDrain(ctx, o, drainwatch.Pods, drainwatch.Volumes)
	readyForStorage := func(ctx context.Context) (string, error) { return r.readyForStorage(ctx, o) }
	drained, blocker, err := o.workload.Drain(ctx, o.cluster, o.machine, o.node, r.leaving(o), readyForStorage)
	if err != nil {
		return sequence.Result{}, err
	}
	if drained {
		return sequence.Done(), nil
	}
	message, after := "evicting the Pods of Node "+o.node.Name, poll(isWatched, pollPods)
	if blocker != "" {
		message, after = blocker, o.pollUntold(stepDrain)
	}
	return sequence.Wait(after, "%s%s", message, o.late(stepDrain, o.options.Timeouts.Drain(), helpsDrain)), nil
}

// leaving is what was seen of what leaves the node.
func (r *Reconciler) leaving(o *observation) workload.Leaving {
	return workload.Leaving{Observed: &r.observed, Now: o.now}
}

// readyForStorage says what is waited for before Pods that serve volumes are evicted: somebody has to detach those of the
// Pods that have gone. What serves them may hold data of the volumes too, which must not be made up for elsewhere.
func (r *Reconciler) readyForStorage(ctx context.Context, o *observation) (waitFor string, err error) {
	volumes, err := o.workload.AttachedVolumes(ctx, o.node, r.leaving(o))
	if err != nil {
		return "", err
	}
	if len(volumes) > 0 {
		return "waiting for volumes to be detached from Node " + o.node.Name + ", before the Pods that serve them are evicted: " +
			strings.Join(volumes, ", "), nil
	}
	return "", o.workload.HoldResidents(ctx, o.attempt)
}

// detachVolumes waits until the volumes of the evicted Pods are detached.
func (r *Reconciler) detachVolumes(ctx context.Context, o *observation) (sequence.Result, error) {
	if keepsPods, err := r.keepsPods(ctx, o); err != nil || keepsPods {
		return sequence.Done(), err
	}
	isWatched := r.watchDrain(ctx, o, drainwatch.Pods, drainwatch.Volumes)
	volumes, err := o.workload.AttachedVolumes(ctx, o.node, r.leaving(o))
	if err != nil {
		return sequence.Result{}, err
	}
	others, err := o.workload.AttachedByResidents(ctx, o.node.Name)
	if err != nil {
		return sequence.Result{}, err
	}
	if waitFor := slices.Concat(volumes, others); len(waitFor) > 0 {
		// What residents have attached is not watched.
		return sequence.Wait(poll(isWatched && len(others) == 0, pollPods), "waiting for volumes to be detached from Node %s: %s%s", o.node.Name,
			strings.Join(waitFor, ", "), o.late(stepDetachVolumes, o.options.Timeouts.Drain(), helpsVolumes)), nil
	}
	return sequence.Done(), o.workload.HoldResidents(ctx, o.attempt)
}
