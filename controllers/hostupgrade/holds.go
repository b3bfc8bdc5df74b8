// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade/gate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// hold is why an attempt does not continue. Its message changes only when what is waited for changes.
type hold = infrav1.UpgradeHold

// Bounds of status.holds and of the object of a hold in the CRD.
const (
	maxHolds      = 64
	maxHoldObject = 512
)

// await waits until the holds have ended, of which some may be nil, with the message of the first; a step that has none is done. Checks that block
// share a message.
func await(after time.Duration, holds ...*hold) sequence.Result {
	found := []hold{}
	for _, held := range holds {
		if held != nil {
			found = append(found, *held)
		}
	}
	if len(found) == 0 {
		return sequence.Done()
	}
	messages := []string{found[0].Message}
	for _, held := range found[1:] {
		if found[0].Check != "" && held.Check != "" {
			messages = append(messages, held.Message)
		}
	}
	return sequence.Hold(after, strings.Join(messages, "; "), found...)
}

// recordHolds stores what this reconcile has found that the attempt waits for, and whether it has its slot. It follows the step and the message.
func (o *observation) recordHolds(found []hold) {
	o.storeHolds(slices.Concat(o.holdsByStatus(found), found))
}

// storeHolds keeps the time of a hold that was known.
func (o *observation) storeHolds(holds []hold) {
	status := &o.upgrade.Status
	former := status.Holds
	status.Holds = nil
	for _, held := range holds[:min(len(holds), maxHolds)] {
		held.Object, held.Since = cut(held.Object, maxHoldObject), metav1.Time{Time: o.now}
		if at := slices.IndexFunc(former, func(f hold) bool { return sameHold(f, held) }); at >= 0 {
			held.Since = former[at].Since
		}
		status.Holds = append(status.Holds, held)
	}
	conditions.Set(o.upgrade, o.admission())
}

func sameHold(a, b hold) bool {
	return a.Reason == b.Reason && a.Object == b.Object && a.Check == b.Check
}

// holdsByStatus follow from what is recorded of the attempt: its host is lost, or its step is overdue and waits for nothing else.
func (o *observation) holdsByStatus(found []hold) []hold {
	status := o.upgrade.Status
	switch {
	case isEnded(status.Phase):
	case status.Phase == infrav1.UpgradeHostLost:
		return []hold{*infrav1.NewHold(infrav1.HoldHostLost, "ElementalHost/"+o.upgrade.Spec.HostName, status.Message)}
	case len(found) == 0 && o.isAt(status.Step) && lateAt(o.upgrade, status.Step, o.now) != "":
		return []hold{*infrav1.NewHold(infrav1.HoldStepOverdue, "Node/"+o.nodeName(), status.Message)}
	}
	return nil
}

// isAt reports whether a step was entered and is not done.
func (o *observation) isAt(step string) bool {
	return slices.ContainsFunc(o.upgrade.Status.Steps, func(s infrav1.UpgradeStepStatus) bool { return s.Name == step && s.CompletionTime == nil })
}

// admission is the condition Admitted.
func (o *observation) admission() metav1.Condition {
	status := o.upgrade.Status
	admitted := metav1.Condition{Type: infrav1.UpgradeAdmittedCondition, Status: metav1.ConditionFalse}
	switch {
	case isEnded(status.Phase):
		admitted.Reason = infrav1.UpgradeEndedReason
	case o.admitted():
		admitted.Status, admitted.Reason = metav1.ConditionTrue, infrav1.UpgradeAdmittedReason
	case len(status.Holds) > 0:
		admitted.Reason, admitted.Message = string(status.Holds[0].Reason), condition.Message(status.Holds[0].Message)
	case attempts.HasEntered(o.upgrade, stepCordon), attempts.HasEntered(o.upgrade, stepReboot), attempts.HasEntered(o.upgrade, stepAssess):
		admitted.Reason = infrav1.UpgradeNotRequiredReason
	default:
		admitted.Reason = infrav1.UpgradePreparingReason
	}
	return admitted
}

// keepHolds is for a reconcile that failed. What held the attempt may still do so, unless it came to a later step; a pause does not, which would have kept it
// from the steps.
func (o *observation) keepHolds(failed sequence.Report) {
	status := o.upgrade.Status
	switch {
	case isEnded(status.Phase):
	case failed.Index > int(status.StepIndex):
		o.recordHolds(nil)
	default:
		o.recordHolds(slices.DeleteFunc(slices.Clone(status.Holds), isRederived))
	}
}

// isRederived reports whether a hold is found anew in each reconcile.
func isRederived(held hold) bool {
	return slices.Contains([]infrav1.HoldReason{
		infrav1.HoldClusterPaused, infrav1.HoldAttemptPaused, infrav1.HoldHostLost, infrav1.HoldStepOverdue,
	}, held.Reason)
}

// recordPause stores that Cluster API's pause stops an attempt, before what holds it otherwise. One that has ended waits for nothing.
func (o *observation) recordPause() {
	if isEnded(o.upgrade.PhaseNow()) {
		return
	}
	others := slices.DeleteFunc(slices.Clone(o.upgrade.Status.Holds), isRederived)
	o.storeHolds(slices.Concat(o.pauses(), o.holdsByStatus(others), others))
}

func (o *observation) pauses() []hold {
	found := []hold{}
	if o.cluster != nil && ptr.Deref(o.cluster.Spec.Paused, false) {
		found = append(found, *infrav1.NewHold(infrav1.HoldClusterPaused, "Cluster/"+o.cluster.Name,
			"Cluster "+o.cluster.Name+" is paused: set its spec.paused to false"))
	}
	if annotations.HasPaused(o.upgrade) {
		found = append(found, *infrav1.NewHold(infrav1.HoldAttemptPaused, "ElementalHostUpgrade/"+o.upgrade.Name,
			"ElementalHostUpgrade "+o.upgrade.Name+" is paused: remove its annotation "+clusterv1.PausedAnnotation))
	}
	return found
}

// cut is the beginning of a text, in characters.
func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}

// outOfOrder is why it is not the node's turn; nil if it is. The ElementalClusterUpgrade of the Cluster decides, as the reader has it, or one that was cancelled,
// which the rollout names, and then the order of nodes. Two nodes never take the last place of a stage: the plan counts those that have a slot, and an attempt
// that takes one after the slots were read has a conflict.
func (r *Reconciler) outOfOrder(ctx context.Context, o *observation, reader client.Reader) (*hold, error) {
	active, err := clusterupgrade.Of(ctx, reader, o.clusterKey())
	if err != nil {
		return nil, err
	}
	concerned := slices.IndexFunc(active, func(u infrav1.ElementalClusterUpgrade) bool { return clusterupgrade.IsFor(&u, o.upgrade) })
	held := o.heldOver()
	switch {
	case concerned > 0: // what it holds is marked before it ends
		held = infrav1.NewHold(infrav1.HoldUpgradeReplaced, "ElementalClusterUpgrade/"+active[0].Name,
			fmt.Sprintf("waiting for ElementalClusterUpgrade %s, which takes the place of %s", active[0].Name, active[concerned].Name))
	case concerned == 0:
		plan, err := clusterupgrade.Read(ctx, r.Client, &active[0], o.elementalCluster.Status.UpgradeSlots)
		if err != nil {
			return nil, err
		}
		held = byUpgrade(plan.Hold(o.upgrade.Spec.MachineName, o.now), active[0].Name)
	}
	if held != nil {
		return held, nil
	}
	return r.notInTurn(ctx, o)
}

// byUpgrade names the ElementalClusterUpgrade in the message of its hold.
func byUpgrade(held *hold, name string) *hold {
	if held != nil {
		held.Message = "waiting for ElementalClusterUpgrade " + name + ": " + held.Message
	}
	return held
}

// closedGate is the gate with an object of the cluster's upgrade that is closed now; nil if none is. What its status says, which is known to be
// open by now, may be old by as much as it is looked at.
func (r *Reconciler) closedGate(ctx context.Context, o *observation) (*hold, error) {
	governing, err := clusterupgrade.Governing(ctx, r.APIReader, o.clusterKey())
	if err != nil || governing == nil || !clusterupgrade.IsFor(governing, o.upgrade) {
		return nil, err
	}
	verdicts, err := gate.Evaluator{Workload: r.Workload, Upgrade: governing, Now: o.now}.Objects(ctx)
	for _, verdict := range verdicts {
		if verdict.Closed != "" {
			return byUpgrade(infrav1.NewHold(infrav1.HoldGateClosed, "ElementalClusterUpgrade/"+governing.Name,
				clusterupgrade.SayClosed(verdict.Name, verdict.Closed)), governing.Name), nil
		}
	}
	return nil, err
}

// heldOver is the hold by the ElementalClusterUpgrade that was cancelled before the upgrade of the node started; nil if none was.
func (o *observation) heldOver() *hold {
	if o.rollout == nil || o.rollout.Spec.HeldBy == "" {
		return nil
	}
	by := o.rollout.Spec.HeldBy
	return infrav1.NewHold(infrav1.HoldUpgradeCancelled, "ElementalClusterUpgrade/"+by,
		fmt.Sprintf("ElementalClusterUpgrade %s was cancelled before this node: patch its template to another OS, create another "+
			"ElementalClusterUpgrade, or remove spec.heldBy of ElementalRollout %s", by, o.rollout.Name))
}
