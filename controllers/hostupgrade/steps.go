// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"slices"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Names of the steps, as they stand in status and messages.
const (
	stepPreflight     = "Preflight"
	stepPrefetch      = attempts.StepPrefetch
	stepApprove       = attempts.StepApprove
	stepAdmit         = "Admit"
	stepCordon        = attempts.StepCordon
	stepEvacuateVMs   = "EvacuateVMs"
	stepHandOver      = attempts.StepHandOver
	stepDrain         = "Drain"
	stepDetachVolumes = "DetachVolumes"
	stepTrigger       = "Trigger"
	stepReboot        = attempts.StepReboot
	stepAssess        = attempts.StepAssess
	stepHandBack      = attempts.StepHandBack
	stepUncordon      = "Uncordon"
	stepRestoreVMs    = "RestoreVMs"
	stepSettle        = "Settle"
)

// Times after which a step looks again. What can be watched wakes it earlier.
const (
	pollPods = 2 * time.Second
	// pollWatched is for what is watched on a Node that drains, see watchDrain: it makes up for what is not.
	pollWatched = 15 * time.Second
	pollCluster = 5 * time.Second
	pollHost    = 30 * time.Second
	// pollSlots is for what others hold, whose every change is an event: it makes up for one that was missed.
	pollSlots = 30 * time.Second
	// pollTurn is the same for the turn of an attempt, which in a large cluster most attempts wait for most of the time.
	pollTurn = 5 * time.Minute
	// soon is for what nothing but this controller's own report is waited for.
	soon = 10 * time.Millisecond
	// crowded is for other attempts of the same cluster, each of which is reconciled in less than that, unless the
	// workload cluster is slow to answer.
	crowded = 250 * time.Millisecond
)

type step = sequence.Step[*observation]

// steps is the whole of an upgrade, in its order. Where Rancher drains the Node, it is handed over to it and back again.
func (r *Reconciler) steps(driver infrav1.UpgradeDriver) []step {
	all := []step{
		{Name: stepPreflight, Run: r.onNode(r.preflight)},
		{Name: stepPrefetch, Run: r.prefetch},
		{Name: stepApprove, Run: r.onNode(r.approve)},
		{Name: stepAdmit, Run: r.admit},
		{Name: stepCordon, Run: r.onNode(r.cordon)},
		{Name: stepEvacuateVMs, Run: r.onNode(r.evacuateVMs)},
		{Name: stepDrain, Run: r.onNode(r.drain)},
		{Name: stepDetachVolumes, Run: r.onNode(r.detachVolumes)},
		{Name: stepTrigger, Run: r.trigger},
		{Name: stepReboot, Run: r.reboot},
		{Name: stepAssess, Run: r.onNode(r.assess)},
		{Name: stepUncordon, Run: r.onNode(r.uncordon)},
		{Name: stepRestoreVMs, Run: r.onNode(r.restoreVMs)},
		{Name: stepSettle, Run: r.onNode(r.settle)},
	}
	if driver == infrav1.DriverRancherDrain {
		all = slices.Insert(all, indexOf(all, stepDrain), step{Name: stepHandOver, Run: r.onNode(r.handOver)})
		all = slices.Insert(all, indexOf(all, stepUncordon), step{Name: stepHandBack, Run: r.handBack})
	}
	return all
}

func indexOf(steps []step, name string) int {
	return slices.IndexFunc(steps, func(s step) bool { return s.Name == name })
}

// StepNames are the names of the steps of an upgrade, in their order. What is tried at every step is made
// from them.
func StepNames() []string { return StepNamesOf(infrav1.DriverClusterAPI) }

// StepNamesOf are those of an upgrade by a driver.
func StepNamesOf(driver infrav1.UpgradeDriver) []string {
	names := []string{}
	for _, s := range (&Reconciler{}).steps(driver) {
		names = append(names, s.Name)
	}
	return names
}

// firstStep is the earliest step that can still matter. Once the host has been told to go there is
// nothing left to prepare, and what was prepared must not be judged again: the node is down.
func firstStep(steps []step, o *observation) int {
	first := stepPreflight
	switch {
	case o.triggered():
		first = stepReboot
	case o.wentUnheard(), o.hasNothingToDo() && osversion.IsImageOnly(o.upgrade.Spec.OSVersionManagement):
		// Of an OS that is more than its image only the host tells that it has it.
		first = stepAssess
	}
	return indexOf(steps, first)
}

// awaitCluster waits for a workload cluster that cannot be reached.
func (o *observation) awaitCluster() sequence.Result { return await(pollCluster, o.unreachable()) }

func (o *observation) unreachable() *hold {
	return infrav1.NewHold(infrav1.HoldClusterUnreachable, "Cluster/"+o.upgrade.Spec.ClusterName,
		workload.Unreached(o.upgrade.Spec.ClusterName, o.unreached))
}

// onNode makes a step wait for the workload cluster and its Node.
func (r *Reconciler) onNode(run func(context.Context, *observation) (sequence.Result, error)) func(context.Context, *observation) (sequence.Result, error) {
	return func(ctx context.Context, o *observation) (sequence.Result, error) {
		if o.workload == nil {
			return o.awaitCluster(), nil
		}
		if o.node == nil {
			return r.awaitMissingNode(o), nil
		}
		return run(ctx, o)
	}
}

// awaitMissingNode waits for a Node that does not exist. Its kubelet registers it again when the host boots. The Machine is left to its health checks where that
// has not happened for as long as a reboot may take; before the trigger nothing would register it, and it is left to them at once.
func (r *Reconciler) awaitMissingNode(o *observation) sequence.Result {
	if o.triggered() && o.now.Sub(r.readinessSince(o)) >= o.options.Timeouts.Reboot() {
		o.leaveToHealthChecks()
	}
	return await(pollCluster, infrav1.NewHold(infrav1.HoldNodeMissing, "Node/"+o.nodeName(),
		"Node "+o.nodeName()+" does not exist in the workload cluster"))
}

// reconcileNormal brings the attempt one step further, or to an end.
func (r *Reconciler) reconcileNormal(ctx context.Context, o *observation) (ctrl.Result, error) {
	if isEnded(o.upgrade.Status.Phase) || o.restoreHistory() {
		return r.reconcileEnded(ctx, o)
	}
	if err := r.reviewDisruption(ctx, o); err != nil {
		return ctrl.Result{}, err
	}
	if waits, err := r.begin(ctx, o); err != nil || waits {
		return ctrl.Result{RequeueAfter: pollHost}, err
	}
	if o.machineLeaves() && o.underway() && !o.lost() {
		enter(&o.upgrade.Status, stepReboot, o.now) // its time-out counts here too
		r.recordWait(o, sequence.Report{}, fmt.Sprintf("Machine %s is being deleted: waiting for ElementalHost %s to finish what it has started",
			o.upgrade.Spec.MachineName, o.upgrade.Spec.HostName))
		return ctrl.Result{RequeueAfter: pollHost}, nil
	}
	if outcome, message := o.interrupted(); outcome != "" {
		if err := o.requiresLive(); err != nil {
			return ctrl.Result{}, err
		}
		return r.end(ctx, o, outcome, message)
	}
	return r.goOn(ctx, o)
}

// begin is what is done when the attempt is looked at for the first time. It reports whether to wait with all else.
func (r *Reconciler) begin(ctx context.Context, o *observation) (waits bool, err error) {
	if waits, err := r.arrive(ctx, o); err != nil || waits {
		return waits, err
	}
	if isFirst := r.recordStart(o); isFirst {
		return false, r.prune(ctx, o)
	}
	return false, nil
}

// goOn runs the steps.
func (r *Reconciler) goOn(ctx context.Context, o *observation) (ctrl.Result, error) {
	if err := r.dropVoidTrigger(ctx, o); err != nil {
		return ctrl.Result{}, err
	}
	steps := r.steps(o.upgrade.Spec.Driver)
	report, err := sequence.Run(ctx, steps, firstStep(steps, o), o)
	r.recordRun(ctx, o, report)
	switch {
	case err != nil:
		r.recordError(ctx, o, report, err, o.tooLate())
		return ctrl.Result{}, err
	case report.Completed():
		message := fmt.Sprintf("Node %s runs %s%s", o.nodeName(), o.upgrade.Spec.ImageURI, o.tooLate())
		return r.end(ctx, o, infrav1.UpgradeSucceeded, because(message, o.warnings()))
	case report.Result.IsEnd():
		return r.end(ctx, o, infrav1.UpgradePhase(report.Result.Outcome), report.Result.Message)
	}
	return ctrl.Result{RequeueAfter: report.Result.After}, nil
}

// goesOn reports whether the attempt is carried on whatever is wanted by now: it cannot be broken off, or
// the host went all the way while nobody was there to ask it how it went, and its node is being assessed.
func (o *observation) goesOn() bool {
	return o.mustFinish() || o.wentUnheard() && !o.isLateToAssess()
}

// tooLate is the part of a message that says that a person's request comes too late to be followed.
func (o *observation) tooLate() string {
	switch {
	case o.leftUnsettled != "":
		return " (spec.cancel has ended: " + o.leftUnsettled + ")"
	case o.upgrade.Spec.Cancel && o.settles():
		return " (spec.cancel ends this once it has taken " + o.options.Timeouts.Settle().String() + ")"
	case !o.goesOn():
		return ""
	case !o.upgrade.DeletionTimestamp.IsZero():
		return " (being deleted: what the host has started is finished first)"
	case o.upgrade.Spec.Cancel:
		return " (spec.cancel comes too late: what the host has started cannot be undone)"
	}
	return ""
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}
