// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// recordStart fills in what is known of an attempt from the beginning, and reports whether this is it.
func (r *Reconciler) recordStart(o *observation) (isFirst bool) {
	status := &o.upgrade.Status
	status.Attempt = o.attempt
	if o.machine != nil && o.machine.Status.NodeRef.IsDefined() {
		status.NodeName = o.machine.Status.NodeRef.Name
	}
	if status.StartTime != nil {
		return false
	}
	status.Phase = infrav1.UpgradePending
	status.StartTime = &metav1.Time{Time: o.now}
	if o.host != nil && !o.triggered() {
		status.From = o.host.Status.OS
	}
	return true
}

// recordUnpaused says that the attempt is not paused, where nothing has been said of it yet. What is paused does not come here.
func (o *observation) recordUnpaused() {
	if conditions.Has(o.upgrade, clusterv1.PausedCondition) {
		return
	}
	conditions.Set(o.upgrade, metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotPausedReason})
}

// recordReturn notes when the host was first seen to be back: from then on counts the time that it may take to assess its
// boot, whether or not the steps are gone through.
func (o *observation) recordReturn() {
	assessing := []infrav1.HostUpgradePhase{infrav1.HostUpgradeAssessing, infrav1.HostUpgradeRolledBack}
	if isEnded(o.upgrade.Status.Phase) || !o.returned() || !slices.Contains(assessing, o.hostReport().Phase) {
		return
	}
	leave(&o.upgrade.Status, stepReboot, o.now)
	enter(&o.upgrade.Status, stepAssess, o.now)
}

// recordChecks keeps what the host has found of itself: it forgets that once the attempt is withdrawn.
func (o *observation) recordChecks() {
	if checks := o.hostReport().Checks; len(checks) > 0 {
		o.upgrade.Status.Checks = checks
	}
}

// recordRun reports how far a run of the steps came.
func (r *Reconciler) recordRun(ctx context.Context, o *observation, report sequence.Report) {
	status := &o.upgrade.Status
	for _, name := range report.Passed {
		leave(status, name, o.now)
	}
	if report.Completed() {
		return
	}
	enter(status, report.Step, o.now)
	if report.Result.IsDone() || report.Result.IsEnd() {
		// The step failed with an error and is tried again, or the attempt is about to end: there is nothing
		// to say of it, and what was said of the step before must not be said of this one.
		return
	}
	if report.Result.Message == "" { // it passes by itself within moments
		o.recordHolds(nil)
		return
	}
	r.announce(ctx, o, report, report.Result.Message)
	r.recordWait(o, report, report.Result.Message+o.tooLate()+o.keptOff(report.Step))
}

// recordError reports what does not pass within moments, as other errors do, and what a person may have to mend: a write that
// an API server refuses, by its rights or by a policy of the cluster, and a workload cluster that does not answer as it
// should. The message ends with the suffix. A report without a step keeps the one that is there.
func (r *Reconciler) recordError(ctx context.Context, o *observation, report sequence.Report, err error, suffix string) {
	switch {
	case isEnded(o.upgrade.Status.Phase):
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		report.Result = await(0, infrav1.NewHold(infrav1.HoldRequestRefused, refusedObject(err), "refused, and tried again: "+err.Error()))
	case workload.IsFailure(err):
		o.unreached = err
		report.Result = o.awaitCluster()
	}
	message := report.Result.Message
	if message == "" {
		o.keepHolds(report)
		return
	}
	if report.Step == stepApprove {
		report.Step = "" // an attempt at that step counts as one that waits for a person
	}
	r.announce(ctx, o, report, message)
	r.recordWait(o, report, message+suffix)
}

// unannounced are the steps at which every attempt waits for its host or for others. The condition Progressing has them; an Event of each
// would be a fifth of what an upgrade writes.
var unannounced = []string{stepPreflight, stepPrefetch, stepAdmit, stepReboot, stepAssess}

// announce the step that an attempt stops at, if it is another one than before. A check that blocks is an Event, too.
func (r *Reconciler) announce(ctx context.Context, o *observation, report sequence.Report, message string) {
	if o.cacheOnly || report.Completed() || o.upgrade.Status.Step == report.Step {
		return
	}
	ctrl.LoggerFrom(ctx).Info("Entering step", "step", report.Position())
	isBlocked := slices.ContainsFunc(report.Result.Holds, func(held hold) bool { return held.Check != "" })
	if slices.Contains(unannounced, report.Step) && !isBlocked {
		return
	}
	r.Recorder.Eventf(o.upgrade, nil, "Normal", infrav1.EventUpgradeStep, report.Step, "%s: %s", report.Position(), message)
}

// refusedObject is what an API server refused to write, as far as it says so.
func refusedObject(err error) string {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return ""
	}
	return strings.Trim(status.Status().Details.Kind+"/"+status.Status().Details.Name, "/")
}

// recordHold reports what is waited for before the steps.
func (r *Reconciler) recordHold(o *observation, result sequence.Result) {
	r.recordWait(o, sequence.Report{Result: result}, result.Message)
}

// recordWait reports what is waited for. A report without a step keeps the one that is there.
func (r *Reconciler) recordWait(o *observation, report sequence.Report, message string) {
	status := &o.upgrade.Status
	if status.Phase != infrav1.UpgradeHostLost || !o.lost() {
		status.Phase = infrav1.UpgradeProgressing
	}
	if !report.Completed() {
		setStep(status, report)
	}
	status.Message = message
	o.recordHolds(report.Result.Holds)
	conditions.Set(o.upgrade, metav1.Condition{
		Type: infrav1.UpgradeProgressingCondition, Status: metav1.ConditionTrue, Reason: cmp.Or(status.Step, string(infrav1.UpgradePending)), Message: condition.Message(message),
	})
	conditions.Set(o.upgrade, metav1.Condition{
		Type: infrav1.UpgradeSucceededCondition, Status: metav1.ConditionUnknown, Reason: string(infrav1.UpgradeProgressing), Message: condition.Message(message),
	})
}

// recordEnd reports how the attempt ended.
func (r *Reconciler) recordEnd(o *observation, outcome infrav1.UpgradePhase, message string) {
	status := &o.upgrade.Status
	isKnown := status.Phase == outcome && status.Message == message
	status.Phase, status.Message = outcome, message
	if !isKnown && outcome != infrav1.UpgradeHostLost { // which may continue
		setStep(status, sequence.Report{})
		status.CompletionTime = &metav1.Time{Time: o.now}
	}
	o.recordHolds(nil)
	if isKnown {
		return
	}
	if o.host != nil {
		status.To = o.host.Status.OS
	}
	succeeded := metav1.ConditionFalse
	if outcome == infrav1.UpgradeSucceeded {
		succeeded = metav1.ConditionTrue
	}
	conditions.Set(o.upgrade, metav1.Condition{
		Type: infrav1.UpgradeSucceededCondition, Status: succeeded, Reason: string(outcome), Message: condition.Message(message),
	})
	conditions.Set(o.upgrade, metav1.Condition{
		Type: infrav1.UpgradeProgressingCondition, Status: metav1.ConditionFalse, Reason: string(outcome), Message: condition.Message(message),
	})
	if outcome == infrav1.UpgradeRolledBack {
		o.recordFormerOS()
	}
	if status.CompletionTime != nil {
		o.recordHistory()
	}
	r.Recorder.Eventf(o.upgrade, nil, kindOf(outcome, o.warnings()), infrav1.EventUpgradeEnded, string(outcome), "%s: %s", outcome, message)
}

// kindOf an event is Warning where something went wrong, if only a stage of the user's that nothing depends on; not where an
// attempt ends because somebody wants something else.
func kindOf(outcome infrav1.UpgradePhase, warnings string) string {
	switch {
	case slices.Contains([]infrav1.UpgradePhase{infrav1.UpgradeRolledBack, infrav1.UpgradeFailed, infrav1.UpgradeHostLost}, outcome),
		outcome == infrav1.UpgradeSucceeded && warnings != "":
		return corev1.EventTypeWarning
	default:
		return corev1.EventTypeNormal
	}
}

// recordFormerOS keeps what the host has found of the OS that it fell back to: the host forgets it once
// the attempt is withdrawn.
func (o *observation) recordFormerOS() {
	former := metav1.Condition{
		Type: infrav1.FormerOSHealthyCondition, Status: metav1.ConditionTrue, Reason: infrav1.FormerOSGoodReason,
		Message: "ElementalHost " + o.host.Name + " found its former OS good",
	}
	if !o.hostReport().Healthy {
		former.Status, former.Reason = metav1.ConditionFalse, infrav1.FormerOSNotGoodReason
		former.Message = "ElementalHost " + o.host.Name + " did not find its former OS good either: look at it, then kubectl uncordon " + o.nodeName()
	}
	conditions.Set(o.upgrade, former)
}

// recordWaiver leaves a trace of a check that a person chose to ignore.
func (r *Reconciler) recordWaiver(o *observation, result infrav1.PreflightResult) {
	if slices.ContainsFunc(o.upgrade.Status.Preflight, func(known infrav1.PreflightResult) bool {
		return known.Check == result.Check && known.Verdict == result.Verdict
	}) {
		return
	}
	r.Recorder.Eventf(o.upgrade, nil, "Warning", infrav1.EventPreflightWaived, stepPreflight,
		"check %s is waived by skipPreflight: %s: %s", result.Check, result.Object, result.Message)
}

func setStep(status *infrav1.ElementalHostUpgradeStatus, report sequence.Report) {
	status.Step, status.StepIndex, status.StepCount = report.Step, 0, 0
	if !report.Completed() {
		status.StepIndex, status.StepCount = int32(report.Index), int32(report.Total)
	}
}

// enter records when a step was first stopped at.
func enter(status *infrav1.ElementalHostUpgradeStatus, name string, now time.Time) {
	for i := range status.Steps {
		if status.Steps[i].Name == name {
			status.Steps[i].CompletionTime = nil
			return
		}
	}
	status.Steps = append(status.Steps, infrav1.UpgradeStepStatus{Name: name, StartTime: metav1.Time{Time: now}})
}

// forget removes the record of a step that is entered again.
func forget(status *infrav1.ElementalHostUpgradeStatus, name string) {
	status.Steps = slices.DeleteFunc(status.Steps, func(s infrav1.UpgradeStepStatus) bool { return s.Name == name })
}

// leave records when a step was first found done.
func leave(status *infrav1.ElementalHostUpgradeStatus, name string, now time.Time) {
	for i := range status.Steps {
		if status.Steps[i].Name != name {
			continue
		}
		if status.Steps[i].CompletionTime == nil {
			status.Steps[i].CompletionTime = &metav1.Time{Time: now}
		}
		return
	}
	status.Steps = append(status.Steps, infrav1.UpgradeStepStatus{
		Name: name, StartTime: metav1.Time{Time: now}, CompletionTime: &metav1.Time{Time: now},
	})
}

const mebibyte = 1 << 20

// recordProgress says at which step the attempt is, and how far the host is with what takes long, as it was when the attempt was
// looked at.
func (o *observation) recordProgress() {
	status := &o.upgrade.Status
	status.Progress = ""
	if status.Step == "" || isEnded(status.Phase) {
		return
	}
	status.Progress = fmt.Sprintf("%d/%d", status.StepIndex, status.StepCount)
	if progress := o.hostReport().Progress; progress != nil {
		status.Progress += ", " + describeProgress(*progress)
	}
}

func describeProgress(progress infrav1.HostUpgradeProgress) string {
	if progress.TotalBytes == 0 {
		return fmt.Sprintf("%s: %d MiB", progress.Stage, progress.Bytes/mebibyte)
	}
	return fmt.Sprintf("%s: %d of %d MiB", progress.Stage, progress.Bytes/mebibyte, progress.TotalBytes/mebibyte)
}
