// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/drainwatch"
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
		return s.Name == stepEvacuateVMs && s.CompletionTime == nil
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
			return step.StartTime.Time
		}
	}
	if o.hostReport().Phase == infrav1.HostUpgradeSucceeded || o.upgrade.Status.StartTime == nil {
		return time.Time{}
	}
	return o.upgrade.Status.StartTime.Time
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

// maxUnhealthy is the bound of status.unhealthyBefore.
const maxUnhealthy = 64

// recordUnhealthy records what is not healthy on the node that is about to be cordoned, and reports whether there is anything that has to be stored
// first. An attempt whose node is cordoned, or was, records nothing: what it has done to the node may be what it would find. One that replaces a bad image
// takes over what was not healthy before that.
func (r *Reconciler) recordUnhealthy(ctx context.Context, o *observation) (isNew bool, err error) {
	if len(o.upgrade.Status.UnhealthyBefore) > 0 || attempts.HasEntered(o.upgrade, stepEvacuateVMs) || workload.CordonedBy(o.node) == o.attempt {
		return false, nil
	}
	fixed, err := r.fixed(ctx, o)
	if err != nil {
		return false, err
	}
	found := []infrav1.UnhealthyObject(nil)
	if fixed != nil {
		found = fixed.Status.UnhealthyBefore
	} else if found, err = o.workload.Unhealthy(ctx, o.node, o.now); err != nil {
		return false, err
	}
	if len(found) == 0 {
		return false, nil
	}
	o.upgrade.Status.UnhealthyBefore = found[:min(len(found), maxUnhealthy)]
	return true, nil
}

// isExcused reports whether something was unhealthy before the attempt has changed anything. What is, still is: the attempt warns of it.
func (o *observation) isExcused(unhealthy infrav1.UnhealthyObject) bool {
	if !slices.Contains(o.upgrade.Status.UnhealthyBefore, unhealthy) {
		return false
	}
	if !slices.Contains(o.excused, unhealthy) {
		o.excused = append(o.excused, unhealthy)
	}
	return true
}

// isReadyAsBefore reports whether the Node is Ready, or was not either before. A kubelet that does not answer is not as it was.
func (o *observation) isReadyAsBefore() bool {
	return workload.IsReady(o.node) || !workload.IsUnreachable(o.node) && o.isExcused(workload.UnhealthyNode(o.node))
}

// unreadyDaemonPods describes the DaemonSet Pods that have to become Ready; empty if there are none.
func (r *Reconciler) unreadyDaemonPods(ctx context.Context, o *observation) (string, error) {
	pods, err := o.workload.UnreadyDaemonPods(ctx, o.node.Name)
	if err != nil {
		return "", err
	}
	pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return o.isExcused(workload.DaemonSetOf(pod)) })
	if len(pods) == 0 {
		return "", nil
	}
	return workload.PodList(pods), nil
}

// unattached describes the volumes that have to be attached.
func (r *Reconciler) unattached(ctx context.Context, o *observation) ([]string, error) {
	volumes, err := o.workload.Unattached(ctx, o.node.Name)
	names := []string{}
	for _, volume := range volumes {
		if !o.isExcused(workload.UnhealthyVolume(volume.Name)) {
			names = append(names, volume.String())
		}
	}
	return names, err
}

// stillUnhealthy warns of what was not healthy before and is not yet; empty where nothing is.
func (o *observation) stillUnhealthy() string {
	if len(o.excused) == 0 {
		return ""
	}
	return wire.WarningPrefix + "as before the upgrade, " + workload.DescribeUnhealthy(o.excused)
}
