// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/direct"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
)

// OfDirect looks at those Machines of a Cluster that a patch of a template reaches, by the names of their ElementalMachines, and that do not run what
// is wanted yet. Waivers are the template's, too.
func (v *Viewer) OfDirect(ctx context.Context, cluster client.ObjectKey, machines sets.Set[string], wanted infrav1.OSVersionManagement,
	template client.Object,
) (*Outlook, error) {
	view := clusterview.New(v.Client, cluster)
	elementals, err := elementalMachines(ctx, view)
	if err != nil {
		return nil, err
	}
	seen, err := v.look(ctx, cluster, view, []client.Object{template}, func(machine *clusterv1.Machine) bool {
		elemental := elementals[machine.Spec.InfrastructureRef.Name]
		return elemental != nil && machines.Has(elemental.Name) && !osversion.Same(elemental.Spec.OSVersionManagement, wanted)
	})
	if seen != nil {
		seen.UnderWay = isAnyUnderWay(elementals, machines)
		if !slices.ContainsFunc(seen.Subjects, func(of *preflight.Subject) bool { return !util.IsControlPlaneMachine(of.Machine) }) {
			seen.Options.MaxConcurrent = 1
		}
		slices.SortStableFunc(seen.Subjects, func(a, b *preflight.Subject) int { return direct.InOrder(a.Machine, b.Machine) })
	}
	return seen, err
}

// isAnyUnderWay reports whether Cluster API is updating one of some machines, or this provider is bringing it to another OS, or has not succeeded to.
func isAnyUnderWay(elementals map[string]*infrav1.ElementalMachine, machines sets.Set[string]) bool {
	for name := range machines {
		if of := elementals[name]; of != nil && (owner.IsUpdating(of) || owner.NotedRollout(of) != "") {
			return true
		}
	}
	return false
}
