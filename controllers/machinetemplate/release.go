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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// releaseAll lets Cluster API go on with all owners that are held for a template, but for those that are still to be
// pointed elsewhere: it was changed back in the moment in which they were held, or is gone.
func (r *Reconciler) releaseAll(ctx context.Context, template client.ObjectKey, all []owner.Owner, but ...placed) error {
	failed := []error{}
	for _, candidate := range all {
		still := slices.ContainsFunc(but, func(other placed) bool { return owner.Same(other, candidate) })
		if owner.HeldFor(candidate) == template.Name && !still {
			failed = append(failed, r.Owners.Release(ctx, candidate))
		}
	}
	return errors.Join(failed...)
}

// giveUpHolds lets go of everything that is held for a template that cannot be acted on because of an error: that may
// last, and Cluster API does nothing to a MachineDeployment that is held. Where that fails, too, the template says so.
func (r *Reconciler) giveUpHolds(ctx context.Context, template *infrav1.ElementalMachineTemplate) error {
	err := r.release(ctx, client.ObjectKeyFromObject(template))
	if err != nil {
		condition.False(template, infrav1.RolledOutCondition, infrav1.BlockedReason,
			"MachineDeployments may be held for this template (annotation %s: %s%s) and cannot be released: %s",
			clusterv1.PausedAnnotation, infrav1.RolloutHoldPrefix, template.Name, shortened(err.Error()))
	}
	return err
}

// release of everything that is held for a template which is not acted on.
func (r *Reconciler) release(ctx context.Context, template client.ObjectKey) error {
	all, err := r.Owners.List(ctx, template.Namespace)
	if err != nil {
		return err
	}
	return r.releaseAll(ctx, template, all)
}
