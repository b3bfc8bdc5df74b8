// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predrain

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/patch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// leave makes the virtual machines of a Machine that is being deleted leave its Node, and then lets Cluster API drain it.
func (r *Reconciler) leave(ctx context.Context, s *scope) (ctrl.Result, error) {
	if why := yields(s); why != "" {
		return r.giveUp(ctx, s, why)
	}
	if s.workload == nil {
		return r.wait(ctx, s, unanswered(s, s.unreached))
	}
	residents, err := s.workload.CertainlyOn(ctx, s.node)
	if err != nil {
		return r.retry(ctx, s, err)
	}
	if len(residents) == 0 {
		return ctrl.Result{}, r.takeOff(ctx, s)
	}
	progress, err := r.empty(ctx, s, residents)
	if err != nil {
		return r.retry(ctx, s, err)
	}
	if !progress.Done {
		return r.wait(ctx, s, progress)
	}
	r.record(s, corev1.EventTypeNormal, "No virtual machine is left on Node "+s.node.Name)
	return ctrl.Result{}, r.takeOff(ctx, s)
}

// empty is one pass over the Node. It is cordoned first, as Cluster API is about to do: nothing must come back here. Of a
// Machine under deletion this is never undone.
func (r *Reconciler) empty(ctx context.Context, s *scope, residents workload.Residents) (workload.Progress, error) {
	if err := s.workload.Cordon(ctx, s.node, attemptOf(s)); err != nil {
		return workload.Progress{}, err
	}
	progress, err := residents.InTurn(func(resident workload.Resident) (workload.Progress, error) {
		return resident.Evacuate(ctx, s.workload, workload.Evacuation{
			Node: s.node, Attempt: attemptOf(s), Policy: s.options.VMPolicy, Observed: &r.observed, Now: r.Clock.Now(),
		})
	})
	if err != nil || !progress.Done {
		return progress, err
	}
	return restore(ctx, s, residents)
}

// restore is one pass that starts those again, elsewhere, that were stopped for the Node, by whomever.
func restore(ctx context.Context, s *scope, residents workload.Residents) (workload.Progress, error) {
	return residents.Each(func(resident workload.Resident) (workload.Progress, error) {
		return resident.Restore(ctx, s.workload, workload.Restoration{
			NodeName: s.machine.Status.NodeRef.Name, Node: s.node, Attempt: attemptOf(s), Others: true,
		})
	})
}

// unanswered is how far it comes while the workload cluster does not answer, or not as it should.
func unanswered(s *scope, cause error) workload.Progress {
	return workload.Progress{Message: workload.Unreached(s.cluster.Name, cause), After: pollCluster}
}

// retry looks again soon. It does not back off further and further: the hook is to go when its time is up.
func (r *Reconciler) retry(ctx context.Context, s *scope, err error) (ctrl.Result, error) {
	ctrl.LoggerFrom(ctx).Error(err, "Failed to evacuate the Node of the Machine, trying again", "Node", klog.KRef("", s.machine.Status.NodeRef.Name))
	return r.wait(ctx, s, unanswered(s, err))
}

// attemptOf is the id in every mark of this deletion, in the form of that of an attempt to upgrade.
func attemptOf(s *scope) string {
	const uidLength = 8
	uid := string(s.machine.UID)
	return s.machine.Name + "/" + uid[:min(uidLength, len(uid))]
}

// giveUp takes the hook off although virtual machines may be left. What was stopped so far is started elsewhere before.
// A workload cluster that fails at that is tried again as long as nobody is kept waiting by it; what a person would have
// to do keeps no hook.
func (r *Reconciler) giveUp(ctx context.Context, s *scope, why string) (ctrl.Result, error) {
	off := ""
	if s.workload != nil && s.machine.Status.NodeRef.Name != "" {
		progress, err := restore(ctx, s, s.workload.Residents())
		switch {
		case err != nil && hasTime(s):
			return r.retry(ctx, s, err)
		case err != nil:
			ctrl.LoggerFrom(ctx).Error(err, "Failed to start virtual machines elsewhere", "Node", klog.KRef("", s.machine.Status.NodeRef.Name))
			off = mayBeOff
		case !progress.Done && !progress.Held:
			return r.wait(ctx, s, progress)
		case !progress.Done:
			off = mayBeOff + ": " + progress.Message
		}
	}
	r.record(s, corev1.EventTypeWarning, "Virtual machines are not waited for: "+why+off)
	return ctrl.Result{}, r.takeOff(ctx, s)
}

// mayBeOff says how what was not started again is found.
const mayBeOff = "; some that were shut down may still be off: kubectl get virtualmachines -A -l " + infrav1.VMStoppedLabel

func (r *Reconciler) record(s *scope, kind, message string) {
	r.Recorder.Eventf(s.machine, nil, kind, infrav1.EventEvacuationEnded, "Evacuate", "%s", message)
}

// takeOff clears the report before the hook, which is what brings the controller here.
func (r *Reconciler) takeOff(ctx context.Context, s *scope) error {
	if err := r.report(ctx, s, func(own *infrav1.ElementalMachine) { conditions.Delete(own, infrav1.EvacuatingCondition) }); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Letting Cluster API drain the Node of the Machine", "Machine", klog.KObj(s.machine))
	return r.setHook(ctx, s.machine, false)
}

// wait says on the ElementalMachine what the deletion of its Machine waits for.
func (r *Reconciler) wait(ctx context.Context, s *scope, progress workload.Progress) (ctrl.Result, error) {
	reason := infrav1.EvacuatingVirtualMachinesReason
	if progress.Held {
		reason = infrav1.EvacuationHeldReason
	}
	err := r.report(ctx, s, func(own *infrav1.ElementalMachine) {
		condition.TrueBecause(own, infrav1.EvacuatingCondition, reason, "%s", progress.Message)
	})
	return ctrl.Result{RequeueAfter: progress.After}, err
}

func (r *Reconciler) report(ctx context.Context, s *scope, change func(*infrav1.ElementalMachine)) error {
	if s.own == nil {
		return nil
	}
	helper, err := patch.NewHelper(s.own, r.Client)
	if err != nil {
		return fmt.Errorf("preparing the patch of ElementalMachine %s: %w", s.own.Name, err)
	}
	change(s.own)
	err = helper.Patch(ctx, s.own, patch.WithOwnedConditions{Conditions: []string{infrav1.EvacuatingCondition}})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing ElementalMachine %s: %w", s.own.Name, err)
	}
	return nil
}
