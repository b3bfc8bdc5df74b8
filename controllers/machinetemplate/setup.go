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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
)

// SetupWithManager adds the reconciler to a manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	made, err := ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.ElementalMachineTemplate{}).
		Named("elementalmachinetemplate").
		WithOptions(options).
		Watches(&clusterv1.MachineDeployment{}, handler.EnqueueRequestsFromMapFunc(templateOfMachineDeployment), builder.WithPredicates(ownerChanged())).
		Watches(&infrav1.ElementalMachine{}, handler.EnqueueRequestsFromMapFunc(templateOfMachine), builder.WithPredicates(machineChanged())).
		Watches(&infrav1.ElementalHostUpgrade{}, handler.EnqueueRequestsFromMapFunc(templateOfAttempt), builder.WithPredicates(attemptChanged())).
		Watches(&infrav1.ElementalRollout{}, handler.EnqueueRequestsFromMapFunc(templateOfRollout), builder.WithPredicates(rolloutChanged())).
		Watches(&infrav1.ElementalHostUpgrade{}, predicates.AfterMoment(templateHeld), builder.WithPredicates(heldChanged())).
		Build(r)
	if err != nil {
		return fmt.Errorf("setting up the controller of ElementalMachineTemplates: %w", err)
	}
	return owner.WatchControlPlanes(mgr, made, handler.EnqueueRequestsFromMapFunc(templateOfControlPlane), ownerChanged())
}

// ownerChanged passes an owner but for its status.
func ownerChanged() predicate.Funcs {
	return predicates.Changed(func(object client.Object) any {
		return []any{predicates.MetadataOf(object), object.GetGeneration()}
	})
}

func templateOfMachineDeployment(_ context.Context, object client.Object) []reconcile.Request {
	md, isMachineDeployment := object.(*clusterv1.MachineDeployment)
	if !isMachineDeployment {
		return nil
	}
	return templateOf(owner.ForMachineDeployment(md))
}

func templateOfControlPlane(_ context.Context, object client.Object) []reconcile.Request {
	controlPlane, isOne := owner.ForControlPlane(object)
	if !isOne {
		return nil
	}
	return templateOf(controlPlane)
}

// templateOf finds the template that an owner refers to.
func templateOf(of owner.Owner) []reconcile.Request {
	return requestFor(of.Object().GetNamespace(), owner.TemplateName(of))
}

func templateOfMachine(_ context.Context, object client.Object) []reconcile.Request {
	machine, isMachine := object.(*infrav1.ElementalMachine)
	if !isMachine {
		return nil
	}
	return requestFor(machine.Namespace, owner.MadeFrom(machine))
}

// templateOfAttempt finds the template that is reconciled when an attempt has ended, or is deleted.
func templateOfAttempt(_ context.Context, object client.Object) []reconcile.Request {
	attempt, isAttempt := object.(*infrav1.ElementalHostUpgrade)
	if !isAttempt || attempt.Spec.Driver == infrav1.DriverClusterAPI {
		return nil
	}
	return requestFor(attempt.Namespace, attempt.Spec.TemplateName)
}

func attemptChanged() predicate.Funcs {
	return afterStart(predicates.Changed(func(attempt *infrav1.ElementalHostUpgrade) any {
		return []any{attempt.PhaseNow(), attempt.Spec.Release, attempt.Spec.Cancel, attempt.DeletionTimestamp.IsZero()}
	}))
}

// templateHeld finds the template that reports what holds an attempt.
func templateHeld(_ context.Context, object client.Object) []reconcile.Request {
	attempt, isAttempt := object.(*infrav1.ElementalHostUpgrade)
	if !isAttempt || len(seenOnTemplate(attempt)) == 0 {
		return nil
	}
	return requestFor(attempt.Namespace, attempt.Spec.TemplateName)
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

// requestFor is the template of a name.
func requestFor(namespace, name string) []reconcile.Request {
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}}
}

// rolloutChanged passes rollouts that are made, completed or deleted.
func rolloutChanged() predicate.Funcs {
	return predicates.Changed(func(of *infrav1.ElementalRollout) any { return of.Spec.Completed })
}

// templateOfRollout finds the template of a rollout: where that was deleted, another one is made.
func templateOfRollout(_ context.Context, object client.Object) []reconcile.Request {
	of, isOne := object.(*infrav1.ElementalRollout)
	if !isOne {
		return nil
	}
	return requestFor(of.Namespace, of.Spec.TemplateName)
}
