// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// Paths that the API server calls; config/webhook/guard.yaml has the same.
const (
	MachineDeploymentPath   = "/guard-machinedeployment"
	KubeadmControlPlanePath = "/guard-kubeadmcontrolplane"
)

// cannotPoint begins every refusal of a change of reference.
const cannotPoint = "the infrastructureRef cannot be changed now: "

// Guard validates changes of owners' references, and pauses of their rollouts.
type Guard struct {
	// Owners reads live what the changed object has under way.
	Owners *owner.Owners
}

// SetupWithManager adds both webhooks to the manager's webhook server.
func (g *Guard) SetupWithManager(mgr ctrl.Manager) error {
	server := mgr.GetWebhookServer()
	server.Register(MachineDeploymentPath, admission.WithValidator(mgr.GetScheme(),
		&validator[*clusterv1.MachineDeployment]{guard: g, owner: owner.ForMachineDeployment}))
	server.Register(KubeadmControlPlanePath, admission.WithValidator(mgr.GetScheme(),
		&validator[*controlplanev1.KubeadmControlPlane]{guard: g, owner: owner.ForKubeadmControlPlane}))
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

// checkReference denies a change of reference at a moment at which Cluster API could delete a Machine for it.
func (g *Guard) checkReference(ctx context.Context, before, after owner.Owner) error {
	template := owner.TemplateName(after)
	return firstReason(after, cannotPoint, []look{
		{
			at: func() (string, error) { return g.Owners.QuietPoint(ctx, before) },
			remedy: "; a Machine could be deleted. Retry when that is over, which takes seconds unless a Machine is held in its update: " +
				"see its Updating condition",
		},
		{
			at: func() (string, error) { return g.Owners.ReturnTo(ctx, before, template) },
			remedy: "; a Machine could be deleted, or left with another OS than it shows. Refer to a copy of the template under a name " +
				"that was not used before, or retry when the rollout has ended",
		},
		{
			at: func() (string, error) { return g.Owners.Between(ctx, before) },
			remedy: "; a Machine could be deleted. Retry when it has, which takes seconds, or change the ElementalMachineTemplate, " +
				"which waits for the moment",
		},
	})
}

// look at what an owner has under way.
type look struct {
	// at what: the reason against the change, or empty.
	at func() (string, error)
	// remedy follows the reason.
	remedy string
}

func firstReason(of owner.Owner, what string, looks []look) error {
	for _, look := range looks {
		reason, err := look.at()
		if err != nil {
			return fmt.Errorf("looking what %s has under way: %w", owner.Describe(of), err)
		}
		if reason != "" {
			return deniedBecause(of, what+reason+look.remedy)
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
