// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// Paths that the API server calls; config/webhook/guard.yaml has the same.
const (
	MachineDeploymentPath         = "/guard-machinedeployment"
	KubeadmControlPlanePath       = "/guard-kubeadmcontrolplane"
	RKE2ControlPlanePath          = "/guard-rke2controlplane"
	ControlPlanePath              = "/guard-controlplane"
	ControlPlaneUnderWayPath      = "/guard-controlplane-under-way"
	MachineDeploymentUnderWayPath = "/guard-machinedeployment-under-way"
	MachinePath                   = "/guard-machine"
)

// cannotPoint is the prefix of every refusal of a change of reference.
const cannotPoint = "the infrastructureRef cannot be changed now: "

// Guard validates changes of owners' references and specs, and pauses of their rollouts.
type Guard struct {
	// Owners reads live what is in progress for the changed object.
	Owners *owner.Owners
}

// SetupWithManager adds the webhooks to the manager's webhook server.
func (g *Guard) SetupWithManager(mgr ctrl.Manager) error {
	server := mgr.GetWebhookServer()
	server.Register(MachineDeploymentPath, admission.WithValidator(mgr.GetScheme(),
		ofReference(g, owner.ForMachineDeployment)))
	server.Register(KubeadmControlPlanePath, admission.WithValidator(mgr.GetScheme(),
		ofReference(g, owner.ForKubeadmControlPlane)))
	server.Register(RKE2ControlPlanePath, admission.WithValidator(mgr.GetScheme(), ofReference(g, owner.ForRKE2ControlPlane)))
	server.Register(ControlPlanePath, &admission.Webhook{Handler: &otherControlPlanes{guard: g, decoder: admission.NewDecoder(mgr.GetScheme())}})
	server.Register(ControlPlaneUnderWayPath, &admission.Webhook{Handler: &controlPlaneUnderWay{guard: g, decoder: admission.NewDecoder(mgr.GetScheme())}})
	server.Register(MachineDeploymentUnderWayPath, admission.WithValidator(mgr.GetScheme(), &validator[*clusterv1.MachineDeployment]{check: g.checkMachineDeploymentUnderWay}))
	server.Register(MachinePath, admission.WithValidator(mgr.GetScheme(), &lastMachine{guard: g}))
	return nil
}

// Check denies a change of reference, or a pause, that is not safe now, with the reason and what to do.
func (g *Guard) Check(ctx context.Context, before, after owner.Owner) error {
	if !after.Object().GetDeletionTimestamp().IsZero() {
		return nil
	}
	if owner.Pauses(before, after) {
		if err := g.checkPause(ctx, before); err != nil {
			return err
		}
	}
	ours := owner.TemplateName(before) != "" || owner.TemplateName(after) != ""
	if owner.SameReference(before, after) || !ours {
		return nil
	}
	if err := g.checkReplacement(ctx, after); err != nil {
		return err
	}
	return g.checkReference(ctx, before, after)
}

// checkReference denies a change of reference while Cluster API could delete a Machine because of it.
func (g *Guard) checkReference(ctx context.Context, before, after owner.Owner) error {
	verdict, err := g.judge(ctx, before)
	if err != nil {
		return err
	}
	return firstReason(after, cannotPoint, []objection{
		{
			reason: verdict.NotQuiet,
			remedy: "; a Machine could be deleted. Retry when that is over, which takes seconds unless a Machine is being updated: " +
				"see its Updating condition",
		},
		{
			reason: verdict.ReturnTo(owner.TemplateName(after)),
			remedy: "; a Machine could be deleted, or left with another OS than it shows. Refer to a copy of the template under a name " +
				"that was not used before, or retry when the rollout has ended",
		},
		{
			reason: verdict.Between,
			remedy: "; a Machine could be deleted. Retry when it has, which takes seconds, or patch the ElementalMachineTemplate, " +
				"which changes no reference",
		},
	})
}

func (g *Guard) judge(ctx context.Context, of owner.Owner) (capiworkaround.Verdict, error) {
	verdict, err := capiworkaround.Judge(ctx, g.Owners, of)
	if err != nil {
		return verdict, fmt.Errorf("checking what is in progress for %s: %w", owner.Describe(of), err)
	}
	return verdict, nil
}

// objection to a change.
type objection struct {
	// reason against the change; empty if there is none.
	reason string
	// remedy follows the reason.
	remedy string
}

func firstReason(of owner.Owner, what string, objections []objection) error {
	for _, objection := range objections {
		if objection.reason != "" {
			return deniedBecause(of, what+objection.reason+objection.remedy)
		}
	}
	return nil
}

func denied(of owner.Owner, why string) error {
	return deniedBecause(of, cannotPoint+why)
}

func deniedBecause(of owner.Owner, why string) error {
	return apierrors.NewForbidden(owner.Resource(of), of.Object().GetName(), errors.New(why))
}
