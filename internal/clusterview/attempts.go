// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// Unfinished are the attempts of the Cluster that have not ended, in no order.
func (v *View) Unfinished(ctx context.Context) ([]infrav1.ElementalHostUpgrade, error) {
	return v.unfinished.get(func() ([]infrav1.ElementalHostUpgrade, error) {
		return attempts.Unfinished(ctx, v.reader, v.cluster)
	})
}

// UnfinishedOn is the newest of Unfinished on an ElementalMachine of a name; nil if there is none.
func (v *View) UnfinishedOn(ctx context.Context, elementalMachine string) (*infrav1.ElementalHostUpgrade, error) {
	unfinished, err := v.Unfinished(ctx)
	return attempts.NewestWhere(unfinished, func(u *infrav1.ElementalHostUpgrade) bool { return u.Spec.ElementalMachineName == elementalMachine }), err
}

// NewestAttempt of the Cluster on an ElementalMachine of a name, which may have ended; nil if there is none.
func (v *View) NewestAttempt(ctx context.Context, elementalMachine string) (*infrav1.ElementalHostUpgrade, error) {
	found, err := attempts.OnElementalMachine(ctx, v.reader, v.cluster.Namespace, elementalMachine)
	return attempts.NewestWhere(found, func(u *infrav1.ElementalHostUpgrade) bool { return u.Spec.ClusterName == v.cluster.Name }), err
}

// Attempt of a name, if it is one of the Cluster; nil otherwise.
func (v *View) Attempt(ctx context.Context, name string) (*infrav1.ElementalHostUpgrade, error) {
	found, err := existing.Get(ctx, v.reader, &infrav1.ElementalHostUpgrade{}, v.cluster.Namespace, name, client.UnsafeDisableDeepCopy)
	if err != nil || found == nil || found.Spec.ClusterName != v.cluster.Name {
		return nil, err
	}
	return found, nil
}

// AttemptsOnHost are all attempts on a host of a name, ended ones too, also those of other Clusters that it served.
func (v *View) AttemptsOnHost(ctx context.Context, host string) ([]infrav1.ElementalHostUpgrade, error) {
	return attempts.OnHost(ctx, v.reader, v.cluster.Namespace, host)
}
