// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepause

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// desired is the rollout that the owner of a Machine wants it to be part of by now.
type desired struct {
	// rollout is its ElementalRollout; empty where there is none.
	rollout string
	// template is the ElementalMachineTemplate that is wanted; empty where it is not known.
	template string
	// options of the rollout, as they were recorded when it began.
	options infrav1.NodeUpgradeOption
	// os that is wanted.
	os hoststate.Wanted
}

// desired of a Machine; nothing where it cannot be told what its owner wants. Each template is read once.
func (r *Reconciler) desired(ctx context.Context, view *clusterview.View, machine *clusterv1.Machine) (desired, error) {
	want, found, err := view.WantsOS(ctx, machine)
	if err != nil {
		return desired{}, fmt.Errorf("reading what the owner of Machine %s wants: %w", machine.Name, err)
	}
	if !found {
		return desired{}, nil
	}
	wanted := desired{template: want.TemplateName, os: want.OS}
	current, err := view.CurrentRollout(ctx, want.Template)
	if current != nil {
		wanted.rollout, wanted.options = current.Name, current.Spec.Options
	}
	return wanted, err
}
