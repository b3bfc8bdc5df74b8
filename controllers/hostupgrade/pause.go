// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// approve waits while the node is paused. A paused node is still schedulable and holds no slot. The first step has settled the pause, so that it is seen, and can
// be ended, before the host has fetched the image.
func (r *Reconciler) approve(_ context.Context, o *observation) (sequence.Result, error) {
	if o.isPastPause() || !pausing.MarksOf(o.node).Paused {
		return sequence.Done(), nil
	}
	// A Node that is resumed is an event.
	return await(pollHost, infrav1.NewHold(infrav1.HoldNodePaused, "Node/"+o.node.Name, pausing.Remedy(o.node.Name, o.upgrade.Name))), nil
}

// isPastPause reports whether it is too late for a pause: half drained, the node would keep its slot for as long as it lasts.
func (o *observation) isPastPause() bool { return workload.CordonedBy(o.node) == o.attempt }

// settlePause makes the marks of the node what they have to be. Of two attempts on a host the one that goes first does.
func (r *Reconciler) settlePause(ctx context.Context, o *observation) error {
	if o.isPastPause() || o.rival != nil {
		return nil
	}
	marks, due := pausing.MarksOf(o.node), pausing.Due{
		Rollout:  pausing.RolloutOf(o.upgrade),
		ByPolicy: pausing.Names(o.options.Strategy, o.node.Name),
	}
	due.Approved = pausing.ApprovedFor(o.machine) == due.Rollout
	decision := pausing.Decide(marks, due)
	isResumed := due.Approved && marks == pausing.Marks{}
	if o.upgrade.Spec.Approved && isResumed || !o.upgrade.Spec.Approved && decision == pausing.Leave {
		return nil
	}
	if err := o.requiresLive(); err != nil {
		return err
	}
	if o.upgrade.Spec.Approved {
		return r.resume(ctx, o)
	}
	return r.carryOut(ctx, o, decision)
}

// resume the node of an attempt that a user has approved.
func (r *Reconciler) resume(ctx context.Context, o *observation) error {
	if err := r.recordApproval(ctx, o); err != nil {
		return err
	}
	return o.workload.Resume(ctx, o.node)
}

func (r *Reconciler) carryOut(ctx context.Context, o *observation, decision pausing.Action) error {
	switch decision {
	case pausing.Pause:
		return o.workload.Pause(ctx, o.node, pausing.RolloutOf(o.upgrade))
	case pausing.Approve:
		if err := r.recordApproval(ctx, o); err != nil {
			return err
		}
		return o.workload.ClearPause(ctx, o.node)
	case pausing.Clear:
		return o.workload.ClearPause(ctx, o.node)
	case pausing.Leave:
	}
	return nil
}

// releasePause takes back the pause of this attempt's rollout. What a person has said by taking it away is kept for
// the next attempt.
func (r *Reconciler) releasePause(ctx context.Context, o *observation) error {
	marks := pausing.MarksOf(o.node)
	if marks.By != pausing.RolloutOf(o.upgrade) {
		return nil
	}
	if !marks.Paused && !o.machineLeaves() {
		if err := r.recordApproval(ctx, o); err != nil {
			return err
		}
	}
	return o.workload.ClearPause(ctx, o.node)
}

// recordApproval keeps on the Machine, where all attempts of the rollout find it, that a user has resumed the node.
func (r *Reconciler) recordApproval(ctx context.Context, o *observation) error {
	rollout := pausing.RolloutOf(o.upgrade)
	if pausing.ApprovedFor(o.machine) == rollout {
		return nil
	}
	return r.writeApproval(ctx, o, rollout, client.MergeFrom(o.machine.DeepCopy()))
}

func (r *Reconciler) writeApproval(ctx context.Context, o *observation, rollout string, patch client.Patch) error {
	pausing.SetApproved(o.machine, rollout)
	if err := r.Client.Patch(ctx, o.machine, patch); err != nil {
		return fmt.Errorf("recording the approval of its node on Machine %s: %w", o.machine.Name, err)
	}
	return nil
}

// forgetApproval is for an attempt whose rollout is over for its node. One that can be tried again, or continues in Rancher's next drain, keeps what a user
// has said.
func (r *Reconciler) forgetApproval(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.machineLeaves() || o.drainEnded() != "" || pausing.ApprovedFor(o.machine) != pausing.RolloutOf(o.upgrade) {
		return sequence.Done(), nil
	}
	return sequence.Done(), r.writeApproval(ctx, o, "",
		client.MergeFromWithOptions(o.machine.DeepCopy(), client.MergeFromWithOptimisticLock{}))
}
