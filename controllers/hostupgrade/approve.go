// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// approve waits while the node is paused. A paused node is still schedulable and holds no slot.
func (r *Reconciler) approve(ctx context.Context, o *observation) (sequence.Result, error) {
	_, paused := o.node.Annotations[infrav1.NodeUpgradePauseAnnotation]
	switch {
	case o.upgrade.Spec.Approved:
		return sequence.Done(), o.workload.Resume(ctx, o.node)
	case paused:
		return waitForApproval(o), r.rememberPause(ctx, o)
	case o.hasPaused() || !pausesNode(o.options.Strategy, o.node.Name):
		// A pause that was set for this attempt and is gone was taken away by a person.
		return sequence.Done(), nil
	default:
		return waitForApproval(o), o.workload.Pause(ctx, o.node, o.attempt)
	}
}

func waitForApproval(o *observation) sequence.Result {
	return sequence.Wait(pollCluster, "Node %s is paused: remove its annotation %s, or set spec.approved of ElementalHostUpgrade %s",
		o.node.Name, infrav1.NodeUpgradePauseAnnotation, o.upgrade.Name)
}

// pausesNode says whether the strategy pauses a node; "manual" with no names pauses them all.
func pausesNode(strategy infrav1.NodeUpgradeStrategy, node string) bool {
	if strategy.Mode != infrav1.NodeUpgradeModeManual {
		return false
	}
	return len(strategy.PauseNodes) == 0 || slices.Contains(strategy.PauseNodes, node)
}

func (o *observation) hasPaused() bool {
	return o.upgrade.Annotations[infrav1.NodeUpgradePauseAnnotation] == o.attempt
}

// rememberPause leaves a mark on the attempt, so that a pause that is removed is told from one that was
// never set.
func (r *Reconciler) rememberPause(ctx context.Context, o *observation) error {
	if o.hasPaused() {
		return nil
	}
	before := o.upgrade.DeepCopy()
	marked := o.upgrade.DeepCopy()
	if marked.Annotations == nil {
		marked.Annotations = map[string]string{}
	}
	marked.Annotations[infrav1.NodeUpgradePauseAnnotation] = o.attempt
	if err := r.Client.Patch(ctx, marked, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("remembering the pause of Node %s: %w", o.node.Name, err)
	}
	return nil
}
