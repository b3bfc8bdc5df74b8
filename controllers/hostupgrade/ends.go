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

// ending is what is left to do before an attempt may be called ended. Each list is idempotent: an
// attempt whose controller dies in the middle finds the same end again and resumes.
func (r *Reconciler) ending(outcome infrav1.UpgradePhase) []step {
	var (
		withdraw     = step{Name: "Withdraw", Run: r.takeBack}
		releaseNode  = step{Name: "ReleaseNode", Run: r.releaseNode}
		keepUnlessOK = step{Name: "ReleaseNode", Run: r.releaseNodeAfterRollback}
		remediation  = step{Name: "AllowRemediation", Run: r.releaseMachine}
		slot         = step{Name: "FreeSlot", Run: r.releaseSlot}
		quarantine   = step{Name: "Quarantine", Run: r.quarantine}
		lift         = step{Name: "LiftQuarantine", Run: r.liftQuarantine}
		slotIfAsked  = step{Name: "FreeSlot", Run: r.releaseSlotIfAsked}
	)
	switch outcome {
	case infrav1.UpgradeSucceeded:
		return []step{lift, releaseNode, remediation, withdraw, slot}
	case infrav1.UpgradeRolledBack:
		return []step{quarantine, keepUnlessOK, remediation, withdraw, slot}
	case infrav1.UpgradeHostLost:
		return []step{remediation, slotIfAsked}
	default: // Failed, Superseded, Aborted
		return []step{withdraw, releaseNode, remediation, slot}
	}
}

// takeBack withdraws the attempt from the host. If the host had been triggered it waits for the
// host's answer, because it may have begun at the same moment.
func (r *Reconciler) takeBack(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.host == nil {
		return sequence.Done(), nil
	}
	if o.labelled() && isHostEnd(o.hostReport().Phase) {
		return sequence.Wait(pollPods, "waiting for the outcome on ElementalHost %s", o.host.Name), nil
	}
	mayHaveBegun := o.wasTriggered() && !isHostEnd(o.hostReport().Phase)
	if err := r.withdraw(ctx, o); err != nil {
		return sequence.Result{}, err
	}
	if mayHaveBegun && o.hostReport().Attempt != "" && o.host.DeletionTimestamp.IsZero() {
		return sequence.Wait(pollHost, "waiting for the elemental-agent of ElementalHost %s to confirm that it has not begun", o.host.Name), nil
	}
	return sequence.Done(), nil
}

func isHostEnd(phase infrav1.HostUpgradePhase) bool {
	return slices.Contains([]infrav1.HostUpgradePhase{
		infrav1.HostUpgradeSucceeded, infrav1.HostUpgradeFailed, infrav1.HostUpgradeRolledBack,
	}, phase)
}

// wasTriggered says whether the host may ever have seen the trigger of this attempt.
func (o *observation) wasTriggered() bool {
	return o.triggered() || slices.ContainsFunc(o.upgrade.Status.Steps, func(s infrav1.UpgradeStepStatus) bool {
		return s.Name == stepTrigger || s.Name == stepReboot
	})
}

// releaseNode uncordons the node if the cordon is ours, and takes back a pause of ours. The node of a
// Machine that is being deleted is left as it is: Cluster API is about to drain it.
func (r *Reconciler) releaseNode(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.machineLeaves() {
		return sequence.Done(), nil
	}
	if o.workload == nil {
		return sequence.Wait(pollCluster, "the API server of workload Cluster %s does not answer", o.upgrade.Spec.ClusterName), nil
	}
	if o.node == nil {
		return sequence.Done(), nil
	}
	if o.node.Annotations[infrav1.NodeUpgradePauseAnnotation] == o.attempt {
		if err := o.workload.Resume(ctx, o.node); err != nil {
			return sequence.Result{}, err
		}
	}
	return sequence.Done(), o.workload.Uncordon(ctx, o.node, o.attempt)
}

// releaseNodeAfterRollback leaves the cordon where the policy says so, or where the former OS is not
// good either.
func (r *Reconciler) releaseNodeAfterRollback(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.options.OnRollback == infrav1.RollbackKeepCordoned || !o.hostReport().Healthy {
		return sequence.Done(), nil
	}
	if !o.machineLeaves() && o.workload != nil && o.node != nil && o.node.Status.NodeInfo.BootID != o.host.Status.OS.BootID {
		return sequence.Wait(pollCluster, "%s", "waiting for the kubelet of Node "+o.node.Name+" to report the new boot"), nil
	}
	if !o.machineLeaves() && o.node != nil && !workload.IsReady(o.node) {
		return sequence.Wait(pollCluster, "waiting for Node %s to be Ready", o.node.Name), nil
	}
	return r.releaseNode(ctx, o)
}

func (r *Reconciler) releaseMachine(ctx context.Context, o *observation) (sequence.Result, error) {
	return sequence.Done(), r.allowRemediation(ctx, o)
}

func (r *Reconciler) releaseSlot(ctx context.Context, o *observation) (sequence.Result, error) {
	return sequence.Done(), r.freeSlot(ctx, o)
}

// releaseSlotIfAsked keeps the slot of a lost host: one node of the cluster is down already.
func (r *Reconciler) releaseSlotIfAsked(ctx context.Context, o *observation) (sequence.Result, error) {
	if !o.upgrade.Spec.Release {
		return sequence.Done(), nil
	}
	return r.releaseSlot(ctx, o)
}

func (r *Reconciler) quarantine(ctx context.Context, o *observation) (sequence.Result, error) {
	return sequence.Done(), r.setQuarantine(ctx, o, o.digest(), true)
}

func (r *Reconciler) liftQuarantine(ctx context.Context, o *observation) (sequence.Result, error) {
	return sequence.Done(), r.setQuarantine(ctx, o, o.digest(), false)
}
