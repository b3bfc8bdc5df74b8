// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// interrupted says how the attempt has to end before it has run its course. What the host has begun
// is brought to its end first, and what became of it counts for more than what is wanted by now.
func (o *observation) interrupted() (infrav1.UpgradePhase, string) {
	report := o.hostReport()
	switch {
	case o.host == nil:
		return infrav1.UpgradeAborted, "ElementalHost " + o.upgrade.Spec.HostName + " is gone"
	case report.Phase == infrav1.HostUpgradeRolledBack:
		return infrav1.UpgradeRolledBack, because("ElementalHost "+o.host.Name+" runs its former OS again", report.Message)
	case report.Phase == infrav1.HostUpgradeFailed:
		return infrav1.UpgradeFailed, because("ElementalHost "+o.host.Name+" could not be upgraded", report.Message)
	case o.machineLeaves():
		return infrav1.UpgradeAborted, "Machine " + o.upgrade.Spec.MachineName + " is being deleted"
	case !o.triggered() && o.hostLeaves() != "":
		return infrav1.UpgradeAborted, o.hostLeaves()
	case o.goesOn():
		return "", ""
	}
	return o.unwanted()
}

// unwanted says why nobody wants the attempt any more that can still be broken off, or why it never was what it says.
func (o *observation) unwanted() (infrav1.UpgradePhase, string) {
	switch {
	case o.upgrade.Spec.Cancel && !o.settles():
		return infrav1.UpgradeAborted, "aborted by spec.cancel: delete the ElementalHostUpgrade to try again"
	case o.neverWanted():
		return infrav1.UpgradeFailed, fmt.Sprintf("spec.osVersionManagement is an OS that no owner wants: "+
			"the owner of Machine %s wants that of ElementalMachineTemplate %s, and its ElementalMachine specifies another, too: "+
			"delete the ElementalHostUpgrade, and patch the template to upgrade", o.upgrade.Spec.MachineName, o.wanted.TemplateName)
	case o.superseded():
		return infrav1.UpgradeSuperseded, "the owner of Machine " + o.upgrade.Spec.MachineName + " wants the OS of ElementalMachineTemplate " + o.wanted.TemplateName
	case o.isTakenOver():
		return infrav1.UpgradeSuperseded, "Cluster API updates Machine " + o.upgrade.Spec.MachineName + " in place"
	case o.isOrphan():
		return infrav1.UpgradeSuperseded, "ElementalRollout " + o.upgrade.Spec.RolloutName + ", to which it belonged, was deleted: another one takes its place"
	case !o.triggered() && o.drainEnded() != "":
		return infrav1.UpgradeSuperseded, o.drainEnded()
	case !o.triggered() && o.contradiction() != "":
		return infrav1.UpgradeFailed, o.contradiction() + ": delete the ElementalHostUpgrade, what is wanted is requested again"
	}
	return "", ""
}

// end undoes what the end asks for and then, as the last thing, calls the attempt ended.
func (r *Reconciler) end(ctx context.Context, o *observation, outcome infrav1.UpgradePhase, message string) (ctrl.Result, error) {
	log := ctrl.LoggerFrom(ctx)
	log.V(4).Info("Ending attempt", "outcome", outcome, "reason", message)
	ending := fmt.Sprintf(" (ending as %s: %s)", outcome, message)
	report, err := sequence.Run(ctx, r.ending(outcome), 0, o)
	if err != nil {
		r.recordError(ctx, o, sequence.Report{}, err, ending)
		return ctrl.Result{}, err
	}
	if !report.Completed() {
		if report.Result.Message == "" || isEnded(o.upgrade.Status.Phase) { // which must not look as if it went on
			o.recordHolds(nil)
			return ctrl.Result{RequeueAfter: report.Result.After}, nil
		}
		r.recordWait(o, sequence.Report{Result: report.Result}, report.Result.Message+ending)
		return ctrl.Result{RequeueAfter: report.Result.After}, nil
	}
	if o.upgrade.Status.Phase != outcome {
		log.Info("Attempt ended", "outcome", outcome, "reason", message, "Node", klog.KRef("", o.nodeName()))
	}
	r.recordEnd(o, outcome, message)
	if outcome == infrav1.UpgradeHostLost {
		return ctrl.Result{RequeueAfter: pollHost}, nil
	}
	return ctrl.Result{}, nil
}

// reconcileEnded withdraws the attempt from its host, and lets one that did not reach its image make
// room for the next: that is how Cluster API gets past a bad image. The withdrawal comes after the end
// is stored, because it makes the host forget how the attempt ended.
func (r *Reconciler) reconcileEnded(ctx context.Context, o *observation) (ctrl.Result, error) {
	if err := r.withdraw(ctx, o); err != nil {
		return ctrl.Result{}, err
	}
	phase := o.upgrade.Status.Phase
	if attempts.IsHistory(o.upgrade) || o.machineLeaves() {
		return ctrl.Result{}, nil
	}
	if o.unread != nil {
		return ctrl.Result{}, o.unread
	}
	if o.neverWanted() { // nothing was done for it, and nothing will be
		return ctrl.Result{}, nil
	}
	if !o.superseded() || phase == infrav1.UpgradeRolledBack && o.leftUnhealthy() {
		// Owners other than MachineDeployments are not watched, and nodes are not either.
		return ctrl.Result{RequeueAfter: pollHost}, nil
	}
	return r.end(ctx, o, infrav1.UpgradeSuperseded, fmt.Sprintf("ended as %s; the owner of Machine %s now wants the OS of ElementalMachineTemplate %s",
		phase, o.upgrade.Spec.MachineName, o.wanted.TemplateName))
}

// leftUnhealthy reports whether a roll-back left the node cordoned because its former OS was not good
// either, whatever the policy: a person has to look at it first, and uncordon it. A node that cannot be
// seen is not known to be better.
func (o *observation) leftUnhealthy() bool {
	if !conditions.IsFalse(o.upgrade, infrav1.FormerOSHealthyCondition) {
		return false
	}
	return o.workload == nil || o.node != nil && workload.CordonedBy(o.node) == o.attempt
}

// ending is what is left to do before an attempt may be called ended. Each list is idempotent: an
// attempt whose controller dies in the middle finds the same end again and resumes.
func (r *Reconciler) ending(outcome infrav1.UpgradePhase) []step {
	var (
		stop         = step{Name: "StopRollout", Run: r.stopRollout}
		revoke       = step{Name: "RevokeTrigger", Run: r.revokeAtEnd}
		takeBack     = step{Name: "TakeBack", Run: r.takeBack}
		cancelMoves  = deferred(step{Name: "CancelEvacuation", Run: r.cancelEvacuation})
		restoreVMs   = deferred(step{Name: stepRestoreVMs, Run: r.restoreVMsAtEnd})
		awaitVMs     = step{Name: "AwaitVirtualMachines", Run: awaitDeferred}
		releaseNode  = step{Name: "ReleaseNode", Run: r.releaseNode}
		keepUnlessOK = step{Name: "ReleaseNode", Run: r.releaseNodeAfterRollback}
		serves       = step{Name: "EndDisruption", Run: endDisruption}
		slot         = step{Name: "FreeSlot", Run: r.releaseSlot}
		quarantine   = step{Name: "Quarantine", Run: r.quarantine}
		suspect      = step{Name: "Quarantine", Run: r.quarantineIfRemediated}
		lift         = step{Name: "LiftQuarantine", Run: r.liftQuarantine}
		awaitPlane   = step{Name: "AwaitControlPlane", Run: r.awaitControlPlane}
		approval     = step{Name: "ForgetApproval", Run: r.forgetApproval}
		slotIfAsked  = step{Name: "FreeSlot", Run: r.releaseSlotIfAsked}
		storage      = step{Name: "ReleaseStorage", Run: r.releaseStorage}
	)
	switch outcome {
	case infrav1.UpgradeSucceeded:
		return []step{lift, releaseNode, serves, approval, storage, slot}
	case infrav1.UpgradeRolledBack:
		return []step{stop, quarantine, keepUnlessOK, serves, restoreVMs, storage, slot, awaitVMs}
	case infrav1.UpgradeFailed:
		return []step{revoke, stop, cancelMoves, releaseNode, serves, restoreVMs, storage, slot, awaitVMs}
	case infrav1.UpgradeHostLost:
		return []step{stop, slotIfAsked, storage}
	case infrav1.UpgradeSuperseded:
		return []step{slotIfAsked, takeBack, cancelMoves, releaseNode, serves, restoreVMs, approval, storage, awaitPlane, slot, awaitVMs}
	default: // Aborted
		return []step{stop, suspect, slotIfAsked, takeBack, cancelMoves, releaseNode, serves, restoreVMs, storage, slot, awaitVMs}
	}
}

// revokeAtEnd takes the trigger from a host that has ended the attempt in the boot for which it was triggered: no valid trigger remains when the node accepts
// Pods again. A trigger for a former boot is void. It remains until the attempt is withdrawn.
func (r *Reconciler) revokeAtEnd(ctx context.Context, o *observation) (sequence.Result, error) {
	if !o.labelled() || !isHostEnd(o.hostReport().Phase) || !hoststate.Triggered(o.host) {
		return sequence.Done(), nil
	}
	return sequence.Done(), client.IgnoreNotFound(r.revokeTrigger(ctx, o))
}

// takeBack withdraws the attempt from the host. If the host had been triggered it waits for the
// host's answer, because it may have begun at the same moment.
func (r *Reconciler) takeBack(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.host == nil || isHostEnd(o.hostReport().Phase) {
		return r.revokeAtEnd(ctx, o)
	}
	if (o.triggered() || o.labelled()) && !o.recordedTrigger() {
		// The controller died between the trigger and its report. Without the report the next run would
		// not know that there is an answer to wait for.
		enter(&o.upgrade.Status, stepReboot, o.now)
		return sequence.Wait(soon, "withdrawing the attempt from ElementalHost %s", o.host.Name), nil
	}
	if err := r.withdraw(ctx, o); err != nil {
		return sequence.Result{}, err
	}
	if o.recordedTrigger() && o.hostReport().Attempt != "" && !o.isGivenUp() {
		return r.awaitConfirmation(o)
	}
	return sequence.Done(), nil
}

// awaitConfirmation waits for the host to say that it has not begun. The Machine of one that is lost is left to its health
// checks meanwhile.
func (r *Reconciler) awaitConfirmation(o *observation) (sequence.Result, error) {
	enter(&o.upgrade.Status, stepReboot, o.now) // its time-out counts here too
	if !o.lost() {
		return sequence.Wait(pollHost, "waiting for the elemental-agent of ElementalHost %s to confirm that it has not started", o.host.Name), nil
	}
	o.leaveToHealthChecks()
	return sequence.Wait(pollHost, "ElementalHost %s has not confirmed within %s that it has not started: look at its console, delete Machine %s, or set spec.release",
		o.host.Name, o.options.Timeouts.Reboot(), o.upgrade.Spec.MachineName), nil
}

// recordedTrigger reports whether it is reported that the host may have seen the trigger of this attempt.
func (o *observation) recordedTrigger() bool {
	return attempts.HasEntered(o.upgrade, stepTrigger) || attempts.HasEntered(o.upgrade, stepReboot)
}

// isGivenUp reports whether no answer of the host is waited for any more: it is being deleted, or it is
// lost, and its Machine goes or a person has said that it may.
func (o *observation) isGivenUp() bool {
	return !o.host.DeletionTimestamp.IsZero() || o.lost() && (o.machineLeaves() || o.upgrade.Spec.Release)
}

// releaseNode uncordons the node if the cordon is ours, and takes back a pause of ours. The cordon of a Machine that
// is being deleted is left as it is, because Cluster API is about to drain the node; nothing of it is waited for.
func (r *Reconciler) releaseNode(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.workload == nil && !o.machineLeaves() {
		return o.awaitCluster(), nil
	}
	if o.workload == nil || o.node == nil {
		return sequence.Done(), nil
	}
	if err := r.releasePause(ctx, o); err != nil {
		return sequence.Result{}, err
	}
	if o.machineLeaves() {
		return sequence.Done(), nil
	}
	return sequence.Done(), o.workload.Uncordon(ctx, o.node, o.attempt)
}

// releaseNodeAfterRollback leaves the cordon where the policy says so, or where the former OS is not
// good either. The mark of the only Node of a cluster, which kubectl uncordon does not remove, is none.
func (r *Reconciler) releaseNodeAfterRollback(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.workload != nil && o.node != nil && workload.IsMarked(o.node, o.attempt) {
		if err := o.workload.Uncordon(ctx, o.node, o.attempt); err != nil {
			return sequence.Result{}, err
		}
	}
	if o.options.OnRollback == infrav1.RollbackKeepCordoned || !o.hostReport().Healthy {
		return sequence.Done(), nil
	}
	if waitFor := o.awaitsFormerBoot(); waitFor != "" {
		return r.awaitNode(ctx, o, r.readinessSince(o), waitFor)
	}
	return r.releaseNode(ctx, o)
}

// awaitsFormerBoot says what is waited for on the node of a host that runs its former OS again; empty if nothing is.
func (o *observation) awaitsFormerBoot() string {
	switch {
	case o.machineLeaves() || o.node == nil:
		return ""
	case o.workload != nil && o.node.Status.NodeInfo.BootID != o.host.Status.OS.BootID:
		return "waiting for the kubelet of Node " + o.node.Name + " to report the new boot"
	case !o.isReadyAsBefore():
		return "waiting for Node " + o.node.Name + " to be Ready"
	}
	return ""
}

func (r *Reconciler) releaseSlot(ctx context.Context, o *observation) (sequence.Result, error) {
	return sequence.Done(), r.freeSlot(ctx, o)
}

// releaseSlotIfAsked keeps the slot of a lost host: one node of the cluster is down already.
func (r *Reconciler) releaseSlotIfAsked(ctx context.Context, o *observation) (sequence.Result, error) {
	if !o.upgrade.Spec.Release || !o.lost() {
		return sequence.Done(), nil
	}
	return r.releaseSlot(ctx, o)
}

func (r *Reconciler) quarantine(ctx context.Context, o *observation) (sequence.Result, error) {
	return sequence.Done(), r.quarantineImage(ctx, o, cmp.Or(o.digest(), o.hostReport().Digest), "rolled back from", o.hostReport().Message)
}

// quarantineIfRemediated suspects the image with which a host was lost whose Machine is deleted by its health check: with the Machine the rollout would forget
// why it has stopped, and the health check would follow it from node to node. A user who deletes the Machine, or releases the host, lets the rollout continue.
func (r *Reconciler) quarantineIfRemediated(ctx context.Context, o *observation) (sequence.Result, error) {
	isLost := o.upgrade.Status.Phase == infrav1.UpgradeHostLost || o.hostReport().Phase == infrav1.HostUpgradeSucceeded &&
		conditions.GetReason(o.upgrade, disrupting) == infrav1.UpgradeLeftToHealthChecksReason // its kubelet is silent
	if !isLost || o.upgrade.Spec.Release || !isRemediated(o.machine) {
		return sequence.Done(), nil
	}
	return sequence.Done(), r.quarantineImage(ctx, o, o.digest(), "was lost with",
		"the host was lost with it, and a MachineHealthCheck had Machine "+o.upgrade.Spec.MachineName+" replaced: if the host is broken, remove the digest")
}

// isRemediated reports whether a Machine is deleted by its owner for its health check. Where that is impossible, or put off, a user has deleted it.
func isRemediated(machine *clusterv1.Machine) bool {
	if machine == nil || machine.DeletionTimestamp.IsZero() || !collections.IsUnhealthyAndOwnerRemediated(machine) {
		return false
	}
	reason := conditions.GetReason(machine, clusterv1.MachineOwnerRemediatedCondition) // control planes give the same
	return reason != clusterv1.MachineSetMachineCannotBeRemediatedReason && reason != clusterv1.MachineSetMachineRemediationDeferredReason
}

// liftQuarantine believes only a host that has just booted the image for this attempt.
func (r *Reconciler) liftQuarantine(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.hostReport().Phase != infrav1.HostUpgradeSucceeded {
		return sequence.Done(), nil
	}
	return sequence.Done(), r.releaseImage(ctx, o, o.digest())
}

// deferred runs a step of an end, and leaves what it waits for to awaitDeferred: what a user has to clear on one node keeps no slot from the others.
func deferred(s step) step {
	return step{Name: s.Name, Run: func(ctx context.Context, o *observation) (sequence.Result, error) {
		result, err := s.Run(ctx, o)
		if err == nil && !result.IsDone() && o.deferred == nil {
			o.deferred = &result
		}
		return sequence.Done(), err
	}}
}

// awaitDeferred waits for the first that was left, when nothing else is left to do.
func awaitDeferred(_ context.Context, o *observation) (sequence.Result, error) {
	if o.deferred != nil {
		return *o.deferred, nil
	}
	return sequence.Done(), nil
}

// historyLimit is how many ended attempts are kept for each host.
const historyLimit = 10

// prune deletes the oldest ended attempts on the host beyond the limit.
func (r *Reconciler) prune(ctx context.Context, o *observation) error {
	ended := slices.DeleteFunc(slices.Clone(o.attempts), func(u infrav1.ElementalHostUpgrade) bool {
		return !isEnded(u.PhaseNow())
	})
	if len(ended) <= historyLimit {
		return nil
	}
	slices.SortFunc(ended, func(a, b infrav1.ElementalHostUpgrade) int {
		if older(&a, &b) {
			return 1
		}
		return -1
	})
	for i := range ended[historyLimit:] {
		old := &ended[historyLimit+i]
		err := r.Client.Delete(ctx, old, client.Preconditions{UID: &old.UID})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting ElementalHostUpgrade %s of the history: %w", old.Name, err)
		}
	}
	return nil
}
