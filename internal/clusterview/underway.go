// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// IsUnderWay reports whether the rollout of an owner has not ended: it has Machines that Cluster API has not brought to its
// template yet, or is just bringing there.
func (v *View) IsUnderWay(ctx context.Context, of owner.Owner) (bool, error) {
	machines, err := v.ElementalMachines(ctx)
	return slices.ContainsFunc(machines, func(machine infrav1.ElementalMachine) bool {
		return owner.Made(of, machine.Labels) && isBehind(of, &machine)
	}), err
}

func isBehind(of owner.Owner, machine *infrav1.ElementalMachine) bool {
	if !machine.DeletionTimestamp.IsZero() {
		return false
	}
	return owner.IsUpdating(machine) || machine.Annotations[clusterv1.TemplateClonedFromNameAnnotation] != owner.TemplateName(of)
}
