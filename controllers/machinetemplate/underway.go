// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"fmt"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// underWay returns the owners that have Machines which Cluster API has not brought to the owner's
// template, or is just bringing there.
func (r *Reconciler) underWay(ctx context.Context, seen *observation) ([]placed, error) {
	if len(seen.owners) == 0 {
		return nil, nil
	}
	machines := &infrav1.ElementalMachineList{}
	if err := r.Client.List(ctx, machines, client.InNamespace(seen.template.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ElementalMachines: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(seen.owners), func(candidate placed) bool {
		return !slices.ContainsFunc(machines.Items, func(machine infrav1.ElementalMachine) bool {
			return isUnderWay(candidate, &machine)
		})
	}), nil
}

func isUnderWay(of placed, machine *infrav1.ElementalMachine) bool {
	if !machine.DeletionTimestamp.IsZero() || !owner.Made(of, machine.Labels) {
		return false
	}
	_, updating := machine.Annotations[clusterv1.UpdateInProgressAnnotation]
	madeFrom := machine.Annotations[clusterv1.TemplateClonedFromNameAnnotation]
	return updating || madeFrom != owner.TemplateName(of)
}
