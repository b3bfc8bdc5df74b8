// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/drainwatch"
)

// settle holds the slot until the node's storage is healthy again, or a user has ended that wait after its time-out.
func (r *Reconciler) settle(ctx context.Context, o *observation) (sequence.Result, error) {
	waitFor, after, err := r.unsettled(ctx, o)
	if err != nil || waitFor == "" {
		return sequence.Done(), err
	}
	late := o.late(stepSettle, o.options.Timeouts.Settle(), helpsVolumes)
	if o.upgrade.Spec.Cancel && late != "" {
		o.leftUnsettled = waitFor
		return sequence.Done(), nil
	}
	return sequence.Wait(after, "%s%s", waitFor, late), nil
}

// unsettled says what of the node's storage is waited for, and when to look again; empty if nothing is.
func (r *Reconciler) unsettled(ctx context.Context, o *observation) (waitFor string, after time.Duration, err error) {
	isWatched := r.watchDrain(ctx, o, drainwatch.Volumes)
	unattached, err := r.unattached(ctx, o)
	if err != nil {
		return "", 0, err
	}
	if len(unattached) > 0 {
		return "waiting for volumes to be attached to Node " + o.node.Name + ": " + strings.Join(unattached, ", "), poll(isWatched, pollPods), nil
	}
	waitFor, err = o.workload.Unsettled(ctx, o.node.Name, o.wentDown())
	return waitFor, pollCluster, err
}

// wentDown is the moment from which on what fails is put down to this attempt: that of its cordon. An attempt that lost
// its status holds for everything, and one that found its host upgraded by hand for nothing but what failed since it began.
func (o *observation) wentDown() time.Time {
	for _, step := range o.upgrade.Status.Steps {
		if step.Name == stepCordon {
			return step.StartedAt.Time
		}
	}
	if o.hostReport().Phase == infrav1.HostUpgradeSucceeded || o.upgrade.Status.StartedAt == nil {
		return time.Time{}
	}
	return o.upgrade.Status.StartedAt.Time
}

// releaseStorage lets residents make up elsewhere again for what is on the node. It is waited for where the workload
// cluster cannot be reached, but holds neither a Machine that is being deleted, nor the report that a host is lost: the
// first is made up for by the next attempt, and the other comes by here again.
func (r *Reconciler) releaseStorage(ctx context.Context, o *observation) (sequence.Result, error) {
	yields := o.machineLeaves() || o.host != nil && o.lost()
	switch {
	case o.clusterLeaves() || o.workload == nil && yields:
		return sequence.Done(), nil
	case o.workload == nil:
		return o.awaitCluster(), nil
	}
	err := o.workload.ReleaseResidents(ctx, o.attempt, func(ctx context.Context) ([]string, error) {
		return r.livingAttempts(ctx, o)
	})
	if err != nil && yields {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to release what residents of the workload cluster hold for the attempt, leaving it to the next attempt")
		return sequence.Done(), nil
	}
	return sequence.Done(), err
}

// livingAttempts are the ids of the attempts of the cluster that have not ended.
func (r *Reconciler) livingAttempts(ctx context.Context, o *observation) ([]string, error) {
	unfinished, err := attempts.UnfinishedNow(ctx, r.APIReader, o.clusterKey())
	if err != nil {
		return nil, err
	}
	living := make([]string, 0, len(unfinished))
	for i := range unfinished {
		living = append(living, attemptOf(&unfinished[i]))
	}
	return living, nil
}
