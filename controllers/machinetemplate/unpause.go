// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"errors"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// unpauseAll lets Cluster API go on with those of some owners that are paused for a template, except those that are still to be
// pointed elsewhere: it was changed back in the moment in which they were paused, or is gone.
func (r *Reconciler) unpauseAll(ctx context.Context, template client.ObjectKey, owners []owner.Owner, except ...placed) error {
	failed := []error{}
	for _, candidate := range owners {
		still := slices.ContainsFunc(except, func(other placed) bool { return owner.Same(other, candidate) })
		if owner.PausedFor(candidate) == template.Name && !still {
			failed = append(failed, capiworkaround.Unpause(ctx, r.Owners, candidate))
		}
	}
	return errors.Join(failed...)
}

// giveUpPauses unpauses everything that is paused for a template that cannot be acted on because of an error: that may
// last, and Cluster API does nothing to a MachineDeployment that is paused. Where that fails, too, the template says so.
func (r *Reconciler) giveUpPauses(ctx context.Context, template *infrav1.ElementalMachineTemplate) error {
	err := r.unpause(ctx, client.ObjectKeyFromObject(template))
	if err != nil {
		condition.False(template, infrav1.ReferencesUpdatedCondition, infrav1.BlockedReason,
			"MachineDeployments may be paused for this template (annotation %s: %s%s) and cannot be unpaused: %s",
			clusterv1.PausedAnnotation, infrav1.RolloutHoldPrefix, template.Name, shortened(err.Error()))
	}
	return err
}

// unpause everything that is paused for a template which is not acted on.
func (r *Reconciler) unpause(ctx context.Context, template client.ObjectKey) error {
	concerned, err := r.Owners.List(ctx, template.Namespace, template.Name)
	if err != nil {
		return err
	}
	return r.unpauseAll(ctx, template, concerned)
}
