// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"slices"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// approve waits while the node is paused. A paused node is still schedulable and holds no slot.
func (r *Reconciler) approve(ctx context.Context, o *observation) (sequence.Result, error) {
	_, paused := o.node.Annotations[infrav1.NodeUpgradePauseAnnotation]
	switch {
	case workload.CordonedBy(o.node) == o.attempt:
		// It is too late for a pause: half drained, the node would keep its slot for as long as it lasts.
		return sequence.Done(), nil
	case o.upgrade.Spec.Approved:
		return sequence.Done(), o.workload.Resume(ctx, o.node)
	case paused:
		o.rememberPause()
		return waitForApproval(o), nil
	case o.hasPaused() || !pausesNode(o.options.Strategy, o.node.Name):
		// A pause that was set for this attempt and is gone was taken away by a person.
		return sequence.Done(), nil
	default:
		if err := o.workload.Pause(ctx, o.node, o.attempt); err != nil {
			return sequence.Result{}, err
		}
		o.rememberPause()
		return waitForApproval(o), nil
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
// never set. It is stored with the report, after the pause: the other way round, an attempt whose
// controller dies in between would go on without having paused.
func (o *observation) rememberPause() {
	if o.upgrade.Annotations == nil {
		o.upgrade.Annotations = map[string]string{}
	}
	o.upgrade.Annotations[infrav1.NodeUpgradePauseAnnotation] = o.attempt
}
