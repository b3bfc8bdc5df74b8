// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// begin creates an attempt if the owner of the Machine, read live, wants its OS. If the owner wants another one the answer is done, as for a
// superseded attempt: otherwise Cluster API would not continue with what the owner wants.
func (h *Handlers) begin(ctx context.Context, seen *observation) (answer, error) {
	machine := seen.wanted.machine
	if !owner.IsUpdating(machine) {
		return inProgress(fmt.Sprintf("Machine %s is not marked as being updated in place", machine.Name)), nil
	}
	want, known, err := owner.WantsOS(ctx, h.Owners.Live, machine)
	if err != nil {
		return answer{}, err
	}
	if !known {
		return inProgress("No upgrade is requested for ElementalHost " + seen.host.Name + ": " + want.Unknown(machine)), nil
	}
	if name := osversion.Unresolved(want.OSVersionManagement); name != "" {
		return inProgress(fmt.Sprintf("Waiting for ManagedOSVersion %s to be looked up: see the conditions of ElementalMachineTemplate %s", name, want.TemplateName)), nil
	}
	if osversion.Hash(want.OSVersionManagement) != seen.wanted.hash() {
		return h.release(ctx, machine, want)
	}
	if closed, err := h.Namespaces.NotOptedIn(ctx, machine.Namespace); err != nil || closed != "" {
		return inProgress(closed), err
	}
	if seen.rollout == nil && want.TemplateName != seen.wanted.template() { // nothing is recorded of a template to which no owner refers
		return h.release(ctx, machine, want)
	}
	return h.request(ctx, seen)
}

// release lets Cluster API continue with what the owner of a Machine wants, as a superseded attempt does.
func (h *Handlers) release(ctx context.Context, machine *clusterv1.Machine, want owner.Want) (answer, error) {
	if util.IsControlPlaneMachine(machine) {
		waitFor, err := capiworkaround.WaitForControlPlane(ctx, h.Live, h.Client, h.Owners.Clock.Now(), machine)
		if err != nil || waitFor != "" {
			return inProgress(waitFor), err
		}
	}
	ctrl.LoggerFrom(ctx).Info("Not creating an attempt: the owner wants another OS", "ElementalMachineTemplate", want.TemplateName)
	return answer{}, nil
}

// request creates the attempt. Its deterministic name ensures that there is only one, however often the hook is called.
func (h *Handlers) request(ctx context.Context, seen *observation) (answer, error) {
	if seen.rollout == nil {
		return inProgress(fmt.Sprintf("Waiting for the rollout of ElementalMachineTemplate %s to Cluster %s to be recorded, which nothing is while the template is paused",
			seen.wanted.template(), seen.wanted.machine.Spec.ClusterName)), nil
	}
	attempt := attempts.New(attempts.Upgrade{
		Chain:    &association.Chain{Machine: seen.wanted.machine, Elemental: seen.wanted.elemental, Host: seen.host},
		Template: seen.wanted.template(), Rollout: seen.rollout.Name, Options: seen.rollout.Spec.Options, Driver: infrav1.DriverClusterAPI,
	})
	if err := h.Client.Create(ctx, attempt); err != nil && !apierrors.IsAlreadyExists(err) {
		return answer{}, fmt.Errorf("creating ElementalHostUpgrade %s: %w", attempt.Name, err)
	}
	return inProgress(requested), nil
}
