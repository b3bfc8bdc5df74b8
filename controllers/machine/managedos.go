// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/managedos"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// resolveOS gives the machine the image of the ManagedOSVersion it names, and reports whether that changed it.
// A machine from a template that names the same one gets what the template was pinned to; until then it waits,
// so that no two machines of a template get different images. What cannot be resolved, or not be read, goes to s.unresolved.
func (r *Reconciler) resolveOS(ctx context.Context, s *scope) (retry ctrl.Result, changed bool, err error) {
	wanted := s.machine.Spec.OSVersionManagement
	if _, err := osversion.Decode(wanted); err != nil {
		s.unresolved = unreadable(s.machine, err)
		return ctrl.Result{}, false, nil
	}
	name := osversion.Unresolved(wanted)
	if name == "" {
		return ctrl.Result{}, false, nil
	}
	template, err := r.clonedFrom(ctx, s.machine)
	if err != nil {
		return ctrl.Result{}, false, err
	}
	var resolved infrav1.OSVersionManagement
	var problem *managedos.Problem
	if template != nil && osversion.Managed(template.Spec.Template.Spec.OSVersionManagement) == name {
		resolved, problem = resolvedBy(template, name)
	} else {
		resolved, problem, err = managedos.Resolver{Live: r.APIReader}.Resolve(ctx, s.machine.Namespace, wanted)
	}
	if err != nil {
		return ctrl.Result{}, false, err
	}
	if problem != nil {
		s.unresolved = problem
		return ctrl.Result{RequeueAfter: managedos.Retry}, false, nil
	}
	ctrl.LoggerFrom(ctx).Info("Looked up a ManagedOSVersion", "managedOSVersion", name, "image", describeOS(resolved))
	s.machine.Spec.OSVersionManagement = *resolved.DeepCopy()
	noteMade(s.machine)
	return ctrl.Result{}, true, nil
}

// unreadable is the problem of an OS version that cannot be decoded. A host must not get it: it could not tell which image is meant.
func unreadable(machine *infrav1.ElementalMachine, err error) *managedos.Problem {
	message := fmt.Sprintf("ElementalMachine %s: spec.%s: correct it", machine.Name, err)
	if name := owner.MadeFrom(machine); name != "" {
		message += " here and in ElementalMachineTemplate " + name
	}
	return &managedos.Problem{Reason: infrav1.InvalidOSVersionReason, Message: message}
}

func resolvedBy(template *infrav1.ElementalMachineTemplate, name string) (infrav1.OSVersionManagement, *managedos.Problem) {
	resolved := osversion.OfTemplate(template)
	if osversion.Unresolved(resolved) != "" {
		return infrav1.OSVersionManagement{}, &managedos.Problem{Reason: infrav1.WaitingForOSVersionReason, Message: fmt.Sprintf(
			"Waiting for ManagedOSVersion %s to be looked up: see condition %s of ElementalMachineTemplate %s",
			name, infrav1.OSVersionResolvedCondition, template.Name)}
	}
	return resolved, nil
}
