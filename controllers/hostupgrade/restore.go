// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"slices"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// restoreVMs starts again what was shut down for the node. It goes by what stands on the VirtualMachines: the report
// of the attempt may be lost, and another attempt may have begun.
func (r *Reconciler) restoreVMs(ctx context.Context, o *observation) (sequence.Result, error) {
	return o.undo(ctx, func(resident workload.Resident) (workload.Progress, error) {
		return resident.Restore(ctx, o.workload, o.restoration())
	})
}

func (o *observation) restoration() workload.Restoration {
	restoration := workload.Restoration{Attempt: o.attempt, All: !o.hasBooted()}
	if o.ownsNode() && !o.machineLeaves() { // what is on the Node of a Machine that goes is left to its deletion
		restoration.NodeName, restoration.Node = o.nodeName(), o.node
	}
	return restoration
}

// ownsNode reports whether what stands on the node, or was stopped for it, can be of no other attempt that goes on.
func (o *observation) ownsNode() bool {
	return o.rival == nil && !isEnded(o.upgrade.Status.Phase)
}

// hasBooted reports whether the node went through what virtual machines were shut down for.
func (o *observation) hasBooted() bool {
	return slices.Contains([]infrav1.HostUpgradePhase{
		infrav1.HostUpgradeAssessing, infrav1.HostUpgradeSucceeded, infrav1.HostUpgradeRolledBack,
	}, o.hostReport().Phase)
}

// restoreVMsAtEnd is restoreVMs for an attempt that ends otherwise. Where the Machine goes, what was stopped starts on
// other nodes; where the Cluster goes, nothing does.
func (r *Reconciler) restoreVMsAtEnd(ctx context.Context, o *observation) (sequence.Result, error) {
	switch {
	case o.clusterLeaves(), o.workload == nil && o.machineLeaves() && o.stoppedNone():
		return sequence.Done(), nil
	case o.workload == nil:
		return o.awaitCluster(), nil
	}
	return r.restoreVMs(ctx, o)
}

// cancelEvacuation stops moving virtual machines off a node that stays. Those of a Machine that goes
// have to leave it all the same.
func (r *Reconciler) cancelEvacuation(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.machineLeaves() || o.workload == nil || o.node == nil || !o.evacuates() {
		return sequence.Done(), nil
	}
	result, err := o.undo(ctx, func(resident workload.Resident) (workload.Progress, error) {
		return resident.Cancel(ctx, o.workload, r.evacuation(o))
	})
	switch {
	case err != nil:
	case !result.IsDone():
		enter(&o.upgrade.Status, stepEvacuateVMs, o.now) // the cordon, which says so too, is removed next
	case attempts.HasEntered(o.upgrade, stepEvacuateVMs):
		leave(&o.upgrade.Status, stepEvacuateVMs, o.now)
	}
	return result, err
}

// evacuates reports whether this attempt may have begun to evacuate the node, and has not ended that. Once the cordon is removed too, others may
// evacuate the node for as long as the attempt waits for something else.
func (o *observation) evacuates() bool {
	isEvacuating := slices.ContainsFunc(o.upgrade.Status.Steps, func(s infrav1.UpgradeStepStatus) bool {
		return s.Name == stepEvacuateVMs && s.FinishedAt == nil
	})
	return o.ownsNode() && (isEvacuating || workload.CordonedBy(o.node) == o.attempt)
}

// undo does one pass for each resident of the node.
func (o *observation) undo(ctx context.Context, pass func(workload.Resident) (workload.Progress, error)) (sequence.Result, error) {
	residents, err := o.workload.On(ctx, o.node)
	if err != nil {
		return sequence.Result{}, err
	}
	progress, err := residents.Each(pass)
	if err != nil || progress.Done {
		return sequence.Done(), err
	}
	return sequence.Wait(min(progress.After, pollPods), "%s", progress.Message), nil
}
