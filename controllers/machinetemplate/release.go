// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"errors"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

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

// letGo of everything that is held for a template which is not acted on.
func (r *Reconciler) letGo(ctx context.Context, template client.ObjectKey) error {
	all, err := r.Owners.List(ctx, template.Namespace)
	if err != nil {
		return err
	}
	return r.releaseAll(ctx, template, all)
}
