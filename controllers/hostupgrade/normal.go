// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// reconcileNormal brings the attempt one step further, or to an end.
func (r *Reconciler) reconcileNormal(ctx context.Context, o *observation) (ctrl.Result, error) {
	if isEnded(o.upgrade.Status.Phase) || o.restoreHistory() {
		return r.reconcileEnded(ctx, o)
	}
	if waits, err := r.begin(ctx, o); err != nil || waits {
		return ctrl.Result{RequeueAfter: pollHost}, err
	}
	if o.machineLeaves() && o.underway() && !o.lost() {
		enter(&o.upgrade.Status, stepReboot, o.now) // its time-out counts here too
		r.recordWait(o, sequence.Report{}, fmt.Sprintf("Machine %s is being deleted: waiting for ElementalHost %s to finish what it has begun",
			o.upgrade.Spec.MachineName, o.upgrade.Spec.HostName))
		return ctrl.Result{RequeueAfter: pollHost}, nil
	}
	if outcome, message := o.interrupted(); outcome != "" {
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
		return infrav1.UpgradeFailed, fmt.Sprintf("spec.osVersionManagement is an OS that nobody wants: "+
			"the owner of Machine %s wants that of ElementalMachineTemplate %s, and its ElementalMachine specifies another, too: "+
			"delete the ElementalHostUpgrade, and patch the template to upgrade", o.upgrade.Spec.MachineName, o.wanted.TemplateName)
	case o.superseded():
		return infrav1.UpgradeSuperseded, "the owner of Machine " + o.upgrade.Spec.MachineName + " wants the OS of ElementalMachineTemplate " + o.wanted.TemplateName
	case !o.triggered() && o.drainEnded() != "":
		return infrav1.UpgradeSuperseded, o.drainEnded()
	case !o.triggered() && o.contradiction() != "":
		return infrav1.UpgradeFailed, o.contradiction() + ": delete the ElementalHostUpgrade, what is wanted is requested again"
	}
	return "", ""
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
		return " (being deleted: what the host has begun is brought to its end first)"
	case o.upgrade.Spec.Cancel:
		return " (spec.cancel comes too late: what the host has begun cannot be undone)"
	}
	return ""
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
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
