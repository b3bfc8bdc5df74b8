// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/enqueue"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// SetupWithManager adds the reconciler to a manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	made, err := ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.ElementalMachineTemplate{}).
		Named("elementalmachinetemplate").
		WithOptions(options).
		Watches(&clusterv1.MachineDeployment{}, handler.EnqueueRequestsFromMapFunc(r.templatesOfMachineDeployment), builder.WithPredicates(ownerChanged())).
		Watches(&infrav1.ElementalMachine{}, handler.EnqueueRequestsFromMapFunc(r.templatesOfMachine), builder.WithPredicates(machineChanged())).
		Watches(&infrav1.ElementalHostUpgrade{}, handler.EnqueueRequestsFromMapFunc(r.templatesOfAttempt), builder.WithPredicates(attemptChanged())).
		Watches(&infrav1.ElementalHostUpgrade{}, predicates.AfterMoment(r.templatesHeld), builder.WithPredicates(heldChanged())).
		Build(r)
	if err != nil {
		return fmt.Errorf("setting up the controller of ElementalMachineTemplates: %w", err)
	}
	if r.Drains != nil {
		if err := r.watchDrains(made, r.Drains); err != nil {
			return err
		}
	}
	return owner.WatchControlPlanes(mgr, made, handler.EnqueueRequestsFromMapFunc(r.templatesOfControlPlane), ownerChanged())
}

// ownerChanged passes an owner but for its status.
func ownerChanged() predicate.Funcs {
	return predicates.Changed(func(object client.Object) any {
		return []any{predicates.MetadataOf(object), object.GetGeneration()}
	})
}

func (r *Reconciler) templatesOfMachineDeployment(ctx context.Context, object client.Object) []reconcile.Request {
	md, isMachineDeployment := object.(*clusterv1.MachineDeployment)
	if !isMachineDeployment {
		return nil
	}
	return r.templatesOf(ctx, owner.ForMachineDeployment(md))
}

func (r *Reconciler) templatesOfControlPlane(ctx context.Context, object client.Object) []reconcile.Request {
	controlPlane, isOne := owner.ForControlPlane(object)
	if !isOne {
		return nil
	}
	return r.templatesOf(ctx, controlPlane)
}

// templatesOf finds the template that an owner refers to, or the source of that.
func (r *Reconciler) templatesOf(ctx context.Context, of owner.Owner) []reconcile.Request {
	return r.sourceOf(ctx, of.Object().GetNamespace(), owner.TemplateName(of))
}

func (r *Reconciler) templatesOfMachine(ctx context.Context, object client.Object) []reconcile.Request {
	machine, isMachine := object.(*infrav1.ElementalMachine)
	if !isMachine {
		return nil
	}
	return r.sourceOf(ctx, machine.Namespace, owner.MadeFrom(machine))
}

// templatesOfAttempt finds the template whose rollout goes on when an attempt has ended, or waits for a user.
func (r *Reconciler) templatesOfAttempt(ctx context.Context, object client.Object) []reconcile.Request {
	attempt, isAttempt := object.(*infrav1.ElementalHostUpgrade)
	if !isAttempt || attempt.Spec.Driver == infrav1.DriverClusterAPI {
		return nil
	}
	return r.sourceOf(ctx, attempt.Namespace, attempt.Spec.TemplateName)
}

func attemptChanged() predicate.Funcs {
	return afterStart(predicates.Changed(func(attempt *infrav1.ElementalHostUpgrade) any {
		return []any{attempt.PhaseNow(), attempts.WaitsForApproval(attempt), attempt.DeletionTimestamp.IsZero()}
	}))
}

// templatesHeld finds the template that reports what holds an attempt.
func (r *Reconciler) templatesHeld(ctx context.Context, object client.Object) []reconcile.Request {
	attempt, isAttempt := object.(*infrav1.ElementalHostUpgrade)
	if !isAttempt || len(seenOnTemplate(attempt)) == 0 {
		return nil
	}
	return r.sourceOf(ctx, attempt.Namespace, attempt.Spec.TemplateName)
}

func heldChanged() predicate.Funcs {
	return afterStart(predicates.Changed(func(attempt *infrav1.ElementalHostUpgrade) any { return seenOnTemplate(attempt) }))
}

// machineChanged passes what decides whether a template is rolled out.
func machineChanged() predicate.Funcs { return afterStart(predicates.Changed(runs)) }

// afterStart leaves out what is there when the manager starts: templates are looked at then anyway.
func afterStart(changed predicate.Funcs) predicate.Funcs {
	changed.CreateFunc = func(e event.CreateEvent) bool { return !e.IsInInitialList }
	return changed
}

// sourceOf is the template of a name, or the one that it is a clone of.
func (r *Reconciler) sourceOf(ctx context.Context, namespace, name string) []reconcile.Request {
	if name == "" {
		return nil
	}
	template, err := existing.Get(ctx, r.Client, &infrav1.ElementalMachineTemplate{}, namespace, name, client.UnsafeDisableDeepCopy)
	switch {
	case err != nil:
		ctrl.LoggerFrom(ctx).Error(err, "Failed to read an ElementalMachineTemplate", "ElementalMachineTemplate", name)
		return nil
	case template == nil:
		return nil
	case !rollout.IsClone(template):
		return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(template)}}
	}
	family, err := clusterview.Family(ctx, r.Client, namespace, template.Labels[infrav1.SourceTemplateLabel])
	return enqueue.Matching(ctx, family, err, func(candidate *infrav1.ElementalMachineTemplate) bool { return !rollout.IsClone(candidate) })
}
