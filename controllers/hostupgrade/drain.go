// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// drain evicts the Pods of the node, as Cluster API would.
func (r *Reconciler) drain(ctx context.Context, o *observation) (sequence.Result, error) {
	drained, blocker, err := o.workload.Drain(ctx, o.cluster, o.machine, o.node.Name)
	if err != nil {
		return sequence.Result{}, err
	}
	if drained {
		return sequence.Done(), nil
	}
	message := "evicting the Pods of Node " + o.node.Name
	if blocker != "" {
		message = blocker
	}
	return sequence.Wait(pollPods, "%s%s", message, o.overdue(stepDrain, o.options.Timeouts.Drain.Duration)), nil
}

// detachVolumes waits until the volumes of the evicted Pods are detached.
func (r *Reconciler) detachVolumes(ctx context.Context, o *observation) (sequence.Result, error) {
	volumes, err := o.workload.AttachedVolumes(ctx, o.node.Name)
	if err != nil {
		return sequence.Result{}, err
	}
	if len(volumes) == 0 {
		return sequence.Done(), nil
	}
	return sequence.Wait(pollPods, "waiting for volumes to be detached from Node %s: %s%s", o.node.Name,
		strings.Join(volumes, ", "), o.overdue(stepDetachVolumes, o.options.Timeouts.Drain.Duration)), nil
}
