// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// An ElementalMachine is not Ready while its Node is out of service, which its Machine shows as InfrastructureReady. A MachineHealthCheck on that condition would
// delete the Machine. So the attempt sets skip-remediation before its condition Disrupting is True. The controller of ElementalMachines removes it after the
// condition is False, or the attempt has ended, when the Machine shows nothing of it any more.

const disrupting = infrav1.UpgradeDisruptingCondition

// setDisrupting stores with the next write of the status whether the node is out of service.
func (o *observation) setDisrupting(is metav1.ConditionStatus, reason, message string) {
	conditions.Set(o.upgrade, metav1.Condition{
		Type: disrupting, Status: is, Reason: reason, Message: message, LastTransitionTime: metav1.Time{Time: o.now},
	})
}

// protect keeps health checks from the Machine, before the node is taken out of service. It waits where the stored status says that they have it: the mark would
// be removed by that.
func (r *Reconciler) protect(ctx context.Context, o *observation) (waits bool, err error) {
	if o.disruptingBefore == metav1.ConditionFalse {
		o.setDisrupting(metav1.ConditionUnknown, infrav1.UpgradeDisruptingReason, "Node "+o.nodeName()+" is about to be taken out of service")
		return true, nil
	}
	return false, r.forbidRemediation(ctx, o)
}

// recordDisruption reports that the node is out of service. The Machine is protected by then.
func (o *observation) recordDisruption() {
	o.setDisrupting(metav1.ConditionTrue, infrav1.UpgradeDisruptingReason, "Node "+o.nodeName()+" is out of service")
}

// recordDisruptionEnd reports that the node is uncordoned, or left cordoned for good.
func (o *observation) recordDisruptionEnd() {
	if conditions.Has(o.upgrade, disrupting) || o.forbidsRemediation() {
		o.setDisrupting(metav1.ConditionFalse, infrav1.UpgradeNotDisruptingReason, "")
	}
}

func endDisruption(_ context.Context, o *observation) (sequence.Result, error) {
	o.recordDisruptionEnd()
	return sequence.Done(), nil
}

// leaveToHealthChecks reports that the Machine is left to its health checks, although the attempt goes on: nothing is heard of its host, or its kubelet.
func (o *observation) leaveToHealthChecks() {
	if conditions.IsTrue(o.upgrade, disrupting) || o.forbidsRemediation() {
		o.setDisrupting(metav1.ConditionFalse, infrav1.UpgradeLeftToHealthChecksReason, "MachineHealthChecks decide on Machine "+o.upgrade.Spec.MachineName)
	}
}

// takeFromHealthChecks protects a Machine again that was left to them, and whose host or kubelet is heard of. It reports whether to wait.
func (r *Reconciler) takeFromHealthChecks(ctx context.Context, o *observation) (waits bool, err error) {
	isLeft := conditions.GetReason(o.upgrade, disrupting) == infrav1.UpgradeLeftToHealthChecksReason
	if !isLeft && o.disruptingBefore != metav1.ConditionUnknown {
		return false, nil
	}
	if waits, err = r.protect(ctx, o); waits || err != nil {
		return waits, err
	}
	o.recordDisruption()
	return false, nil
}

// reviewDisruption corrects what the stored status says of a node that others have changed since.
func (r *Reconciler) reviewDisruption(ctx context.Context, o *observation) error {
	switch {
	case o.machineLeaves() || o.upgrade.Status.Phase == infrav1.UpgradeHostLost:
	case !o.triggered():
		r.reviewBeforeTrigger(o)
	case !conditions.Has(o.upgrade, disrupting):
		o.recordDisruption() // a move has lost the status, or a former version did not report it
	case o.disruptingBefore == metav1.ConditionTrue:
		return r.forbidRemediation(ctx, o) // the host was lost, or a user has removed the mark
	}
	return nil
}

func (r *Reconciler) reviewBeforeTrigger(o *observation) {
	isStored := o.disruptingBefore == metav1.ConditionTrue
	switch {
	case (isStored || o.forbidsRemediation()) && r.isNodeDead(o):
		o.leaveToHealthChecks()
	case isStored && o.node != nil && !o.node.Spec.Unschedulable && !workload.IsMarked(o.node, o.attempt):
		o.recordDisruptionEnd() // a user has uncordoned it
	}
}

// isNodeDead reports whether the Node is gone, or its kubelet has not answered for as long as a reboot may take.
func (r *Reconciler) isNodeDead(o *observation) bool {
	if o.workload == nil || o.node != nil && !workload.IsUnreachable(o.node) {
		return false
	}
	return o.node == nil || o.now.Sub(r.readinessSince(o)) >= o.options.Timeouts.Reboot()
}

// forbidsRemediation reports whether the mark of the Machine is this attempt's.
func (o *observation) forbidsRemediation() bool {
	return o.machine != nil && o.machine.Annotations[infrav1.SkipRemediationByAnnotation] == o.attempt
}

// forbidRemediation keeps MachineHealthChecks, which know nothing of updates, from replacing the Machine while its node is out of service. A mark of another
// attempt is taken over: there is one attempt for a Machine. Any other mark is a user's. A Machine that its owner is to remediate already is not marked until its
// health check has withdrawn that, which it does only without the mark; owners do not look at the mark. Nor is one without its ElementalMachine, whose controller
// removes the mark.
func (r *Reconciler) forbidRemediation(ctx context.Context, o *observation) error {
	_, isSet := o.machine.Annotations[clusterv1.MachineSkipRemediationAnnotation]
	by := o.machine.Annotations[infrav1.SkipRemediationByAnnotation]
	if isSet && (by == "" || by == o.attempt) || !isSet && collections.IsUnhealthyAndOwnerRemediated(o.machine) {
		return nil
	}
	elemental, err := existing.Get(ctx, r.APIReader, &infrav1.ElementalMachine{}, o.upgrade.Namespace, o.upgrade.Spec.ElementalMachineName)
	if err != nil || elemental == nil || !elemental.DeletionTimestamp.IsZero() {
		return err
	}
	return r.patchMachine(ctx, o, func(machine *clusterv1.Machine) {
		if machine.Annotations == nil {
			machine.Annotations = map[string]string{}
		}
		machine.Annotations[clusterv1.MachineSkipRemediationAnnotation] = ""
		machine.Annotations[infrav1.SkipRemediationByAnnotation] = o.attempt
	})
}

// patchMachine writes with a resourceVersion at which what is decided on is what was read. Cluster API may have written the rest since,
// as it does all the time: that is no conflict.
func (r *Reconciler) patchMachine(ctx context.Context, o *observation, change func(*clusterv1.Machine)) error {
	now, err := existing.Get(ctx, r.APIReader, &clusterv1.Machine{}, o.machine.Namespace, o.machine.Name)
	if err != nil {
		return err
	}
	if now != nil && equality.Semantic.DeepEqual(decisive(now), decisive(o.machine)) { // or the write is a conflict
		o.machine = now
	}
	before := o.machine.DeepCopy()
	change(o.machine)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, o.machine, patch); err != nil {
		return fmt.Errorf("marking Machine %s for its health checks: %w", o.machine.Name, err)
	}
	return nil
}

// decisive is what decides on a Machine whether it is marked for its health checks.
func decisive(machine *clusterv1.Machine) []any {
	return []any{machine.UID, machine.Generation, machine.DeletionTimestamp, machine.Annotations}
}
