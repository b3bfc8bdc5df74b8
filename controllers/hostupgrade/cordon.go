// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// cordon makes the node unschedulable in our name. From here to the end the host must not be moved to
// another management cluster. The only Node of a cluster is marked instead: what graceful shutdown ends, this manager's own Pod perhaps
// among it, has nowhere else to run; and so is one that Rancher has cordoned.
func (r *Reconciler) cordon(ctx context.Context, o *observation) (sequence.Result, error) {
	if workload.CordonedBy(o.node) == o.attempt && (o.drain == nil || o.node.Spec.Unschedulable) {
		return sequence.Done(), nil
	}
	if isNew, err := r.recordUnhealthy(ctx, o); err != nil || isNew {
		return sequence.Wait(soon, "recording what is not healthy on Node %s, before it is cordoned: %s",
			o.node.Name, workload.DescribeUnhealthy(o.upgrade.Status.UnhealthyBefore)), err
	}
	if err := r.blockMove(ctx, o); err != nil {
		return sequence.Result{}, err
	}
	if o.drain != nil {
		return r.mark(ctx, o)
	}
	isOnly, err := o.workload.IsOnlyNode(ctx)
	switch {
	case err != nil:
		return sequence.Result{}, err
	case isOnly:
		return sequence.Done(), o.workload.Mark(ctx, o.node, o.attempt)
	}
	return sequence.Done(), o.workload.Cordon(ctx, o.node, o.attempt)
}

func (r *Reconciler) blockMove(ctx context.Context, o *observation) error {
	return r.patchHost(ctx, o, "keeping clusterctl from moving", setBlockMove)
}

func setBlockMove(host *infrav1.ElementalHost) {
	if host.Annotations == nil {
		host.Annotations = map[string]string{}
	}
	host.Annotations[infrav1.BlockMoveAnnotation] = ""
}

// uncordon takes back our own cordon, and gives the Machine back to its health checks.
func (r *Reconciler) uncordon(ctx context.Context, o *observation) (sequence.Result, error) {
	if err := o.workload.Uncordon(ctx, o.node, o.attempt); err != nil {
		return sequence.Result{}, err
	}
	return sequence.Done(), r.allowRemediation(ctx, o)
}
