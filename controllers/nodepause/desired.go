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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// desired is the rollout that the owner of a Machine wants it to be part of by now.
type desired struct {
	// rollout is the template that is rolled out; empty where none is known.
	rollout string
	// options of the rollout, as they were recorded when it was first seen.
	options infrav1.NodeUpgradeOption
	// os that the rollout brings.
	os hoststate.Wanted
	// isSource says that the template is one that is patched, and not a clone.
	isSource bool
	// isOvertaken says that the owner wants another OS by now: an attempt for the present rollout ends by itself.
	isOvertaken bool
}

// desired of a Machine; nothing where it cannot be told what its owner wants, or where that is a clone whose source was given another OS since: no
// Machine begins with the clone's any more. Each rollout is read once.
func (r *Reconciler) desired(ctx context.Context, view *clusterview.View, machine *clusterv1.Machine, known map[string]desired) (desired, error) {
	want, found, err := view.WantsOS(ctx, machine)
	if err != nil {
		return desired{}, fmt.Errorf("reading what the owner of Machine %s wants: %w", machine.Name, err)
	}
	if !found {
		return desired{}, nil
	}
	if wanted, isKnown := known[want.TemplateName]; isKnown {
		return wanted, nil
	}
	overtaker, err := want.Overtaker(ctx, r.Client)
	if err != nil {
		return desired{}, err
	}
	if overtaker != nil {
		known[want.TemplateName] = desired{isOvertaken: true}
		return known[want.TemplateName], nil
	}
	wanted := desired{rollout: want.TemplateName, os: want.OS, isSource: !rollout.IsClone(want.Template)}
	if wanted.options, err = owner.RolloutOptions(ctx, r.Client, want.Template, machine.Namespace, machine.Spec.ClusterName); err == nil {
		known[want.TemplateName] = wanted
	}
	return wanted, err
}
