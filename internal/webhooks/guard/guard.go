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
	if owner.SameReference(before, after) {
		return nil
	}
	if owner.TemplateName(before) == "" && owner.TemplateName(after) == "" {
		return nil
	}
	if err := g.checkReplacement(ctx, after); err != nil {
		return err
	}
	reason, err := g.Owners.QuietPoint(ctx, before)
	if err != nil {
		return fmt.Errorf("looking whether the reference of %s can be changed now: %w", owner.Describe(after), err)
	}
	if reason != "" {
		return denied(after, reason+"; a Machine could be deleted. Retry when that is over, which takes seconds "+
			"unless a Machine is held in its update: see its Updating condition")
	}
	reason, err = g.Owners.ReturnTo(ctx, before, owner.TemplateName(after))
	if err != nil {
		return fmt.Errorf("looking whether %s can return to %s: %w", owner.Describe(after), owner.TemplateName(after), err)
	}
	if reason != "" {
		return denied(after, reason+"; a Machine could be deleted, or left with another OS than it shows. Refer to a copy of the template "+
			"under a name that was not used before, or retry when the rollout has ended")
	}
	reason, err = g.Owners.Between(ctx, before)
	if err != nil {
		return fmt.Errorf("looking how far the rollout of %s is: %w", owner.Describe(after), err)
	}
	if reason != "" {
		return denied(after, reason+"; a Machine could be deleted. Retry when it has, which takes seconds, or change the "+
			"ElementalMachineTemplate, which waits for the moment")
	}
	return nil
}

func denied(of owner.Owner, why string) error {
	return deniedBecause(of, "the infrastructureRef cannot be changed now: "+why)
}

func deniedBecause(of owner.Owner, why string) error {
	return apierrors.NewForbidden(owner.Resource(of), of.Object().GetName(), errors.New(why))
}
