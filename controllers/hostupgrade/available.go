// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// What is here keeps two things in their order. While its node is out of service an ElementalMachine is not Ready, which its Machine shows as InfrastructureReady,
// so that replicas, autoscalers and users see it. A MachineHealthCheck may look at that condition, and would delete the Machine. So the Machine is marked
// before, and the mark is removed after.

// recordDisruption reports that the node is out of service. The ElementalMachine is not Ready from then on.
func (o *observation) recordDisruption() {
	conditions.Set(o.upgrade, metav1.Condition{
		Type: infrav1.UpgradeDisruptingCondition, Status: metav1.ConditionTrue, Reason: infrav1.UpgradeDisruptingReason,
		Message: "Node " + o.nodeName() + " is out of service", LastTransitionTime: metav1.Time{Time: o.now},
	})
}

// recordService reports that the node serves again, or that nothing more is done to it.
func (o *observation) recordService() {
	if !conditions.Has(o.upgrade, infrav1.UpgradeDisruptingCondition) {
		return
	}
	conditions.Set(o.upgrade, metav1.Condition{
		Type: infrav1.UpgradeDisruptingCondition, Status: metav1.ConditionFalse, Reason: infrav1.UpgradeNotDisruptingReason,
		LastTransitionTime: metav1.Time{Time: o.now},
	})
}

func endDisruption(_ context.Context, o *observation) (sequence.Result, error) {
	o.recordService()
	return sequence.Done(), nil
}

// releaseMachine waits until the Machine is released to its health checks. Cluster API and this provider's other controllers see to it within moments.
func (r *Reconciler) releaseMachine(ctx context.Context, o *observation) (sequence.Result, error) {
	released, err := r.releaseToHealthChecks(ctx, o)
	if err != nil || released {
		return sequence.Done(), err
	}
	if ended := conditions.Get(o.upgrade, infrav1.UpgradeDisruptingCondition); ended != nil && o.now.Sub(ended.LastTransitionTime.Time) < momentary {
		return sequence.Wait(pollPods, ""), nil
	}
	return sequence.Wait(pollCluster, "waiting for Machine %s to show that its infrastructure is not upgrading: see condition Ready of ElementalMachine %s, "+
		"and whether its controller and that of Cluster API run", o.machine.Name, o.upgrade.Spec.ElementalMachineName), nil
}

// releaseToHealthChecks takes our own mark back unless Cluster API shows, or is about to show, the Machine as upgrading. It reports whether none is left.
func (r *Reconciler) releaseToHealthChecks(ctx context.Context, o *observation) (released bool, err error) {
	if !o.forbidsRemediation() {
		return true, nil
	}
	if upgrading, err := r.isShownUpgrading(ctx, o); err != nil || upgrading {
		return false, err
	}
	return true, r.allowRemediation(ctx, o)
}

// isShownUpgrading looks at the ElementalMachine, too: what it says is what the Machine will show. A Machine that is being deleted is remediated no more.
func (r *Reconciler) isShownUpgrading(ctx context.Context, o *observation) (bool, error) {
	switch {
	case o.machineLeaves():
		return false, nil
	case showsUpgrading(o.machine):
		return true, nil
	}
	elemental, err := existing.Get(ctx, r.APIReader, &infrav1.ElementalMachine{}, o.upgrade.Namespace, o.upgrade.Spec.ElementalMachineName)
	return elemental != nil && conditions.IsTrue(elemental, infrav1.UpgradingCondition), err
}

// showsUpgrading reports whether a Machine shows that its node is out of service for an attempt. Cluster API copies status and reason of Ready of the
// ElementalMachine. Source: Cluster API 1.14.2, setInfrastructureReadyCondition.
func showsUpgrading(machine *clusterv1.Machine) bool {
	return conditions.GetReason(machine, clusterv1.InfrastructureReadyCondition) == infrav1.UpgradingReason
}

// forbidRemediation keeps MachineHealthChecks, which know nothing of updates, from replacing the Machine while its node is out of service. A mark of another
// attempt is taken over: there is one attempt for a Machine. Any other mark is a user's.
func (r *Reconciler) forbidRemediation(ctx context.Context, o *observation) error {
	_, isSet := o.machine.Annotations[clusterv1.MachineSkipRemediationAnnotation]
	by := o.machine.Annotations[infrav1.SkipRemediationByAnnotation]
	if isSet && (by == "" || by == o.attempt) {
		return nil
	}
	return r.patchMachine(ctx, o, func(machine *clusterv1.Machine) {
		if machine.Annotations == nil {
			machine.Annotations = map[string]string{}
		}
		machine.Annotations[clusterv1.MachineSkipRemediationAnnotation] = ""
		machine.Annotations[infrav1.SkipRemediationByAnnotation] = o.attempt
	})
}

// forbidsRemediation reports whether the mark of the Machine is this attempt's.
func (o *observation) forbidsRemediation() bool {
	return o.machine != nil && o.machine.Annotations[infrav1.SkipRemediationByAnnotation] == o.attempt
}

// allowRemediation takes our own mark back, at once: the host is lost.
func (r *Reconciler) allowRemediation(ctx context.Context, o *observation) error {
	if !o.forbidsRemediation() {
		return nil
	}
	return r.patchMachine(ctx, o, func(machine *clusterv1.Machine) {
		delete(machine.Annotations, clusterv1.MachineSkipRemediationAnnotation)
		delete(machine.Annotations, infrav1.SkipRemediationByAnnotation)
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
