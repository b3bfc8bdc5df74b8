// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/direct"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight/outlook"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// preview of the rollout to some Machines of a Cluster. It returns nil if the Cluster is not one of ours.
type preview func(context.Context) (*outlook.Outlook, error)

// reach finds the Machines that a change of a template would reach: those of the owners that refer to it or a clone of it, and, in each
// Cluster, those that driver Direct upgrades.
func (v *Validator) reach(ctx context.Context, template *infrav1.ElementalMachineTemplate) ([]preview, error) {
	clones, err := v.clonesOf(ctx, template)
	if err != nil {
		return nil, err
	}
	owners, err := v.ownersOf(ctx, template, clones)
	if err != nil {
		return nil, err
	}
	others, err := v.directOf(ctx, template, clones)
	if err != nil {
		return nil, err
	}
	wanted, found := template.Spec.Template.Spec.OSVersionManagement, []preview{}
	for _, of := range owners {
		if owner.IsTopologyOwned(of) {
			continue // a topology rolls out its own templates
		}
		found = append(found, func(ctx context.Context) (*outlook.Outlook, error) {
			return v.Outlook.OfOwner(ctx, of, wanted, 0, template)
		})
	}
	for _, cluster := range slices.Sorted(maps.Keys(others)) {
		key := client.ObjectKey{Namespace: template.Namespace, Name: cluster}
		found = append(found, func(ctx context.Context) (*outlook.Outlook, error) {
			return v.Outlook.OfDirect(ctx, key, others[cluster], wanted, 0, template)
		})
	}
	return found, nil
}

func (v *Validator) clonesOf(ctx context.Context, template *infrav1.ElementalMachineTemplate) ([]infrav1.ElementalMachineTemplate, error) {
	family, err := clusterview.Family(ctx, v.Client, template.Namespace, rollout.LabelValue(template.Name))
	return slices.DeleteFunc(slices.Clone(family), func(of infrav1.ElementalMachineTemplate) bool { return !rollout.IsClone(&of) }), err
}

// ownersOf are the owners that refer to a template or one of its clones and that Cluster API rolls out. Those of a Cluster that Rancher drains are
// not checked: nothing begins with the patch.
func (v *Validator) ownersOf(ctx context.Context, template *infrav1.ElementalMachineTemplate, clones []infrav1.ElementalMachineTemplate) ([]owner.Owner, error) {
	names := sets.New(template.Name)
	for i := range clones {
		names.Insert(clones[i].Name)
	}
	concerned, err := v.Owners.List(ctx, template.Namespace, sets.List(names)...)
	if err != nil {
		return nil, err
	}
	found := []owner.Owner{}
	for _, candidate := range concerned {
		if !names.Has(owner.TemplateName(candidate)) {
			continue
		}
		choice, err := v.Owners.DriverOfOwner(ctx, candidate)
		if err != nil {
			return nil, err
		}
		if choice.Driver == infrav1.DriverClusterAPI {
			found = append(found, candidate)
		}
	}
	return found, nil
}

// directOf are the ElementalMachines of a template's family that driver Direct upgrades, by Cluster; none of a template of a topology, which
// it does not roll out.
func (v *Validator) directOf(ctx context.Context, template *infrav1.ElementalMachineTemplate, clones []infrav1.ElementalMachineTemplate) (map[string]sets.Set[string], error) {
	found := map[string]sets.Set[string]{}
	if _, owned := template.Labels[clusterv1.ClusterTopologyOwnedLabel]; owned {
		return found, nil
	}
	finder := direct.NewFinder(v.Owners)
	for _, of := range append(slices.Clone(clones), *template) {
		machines, err := finder.MadeFrom(ctx, &of)
		if err != nil {
			return nil, err
		}
		for _, candidate := range machines {
			if cluster := candidate.Machine.Machine.Spec.ClusterName; candidate.Choice.Driver == infrav1.DriverDirect {
				found[cluster] = found[cluster].Union(sets.New(candidate.Elemental.Name))
			}
		}
	}
	return found, nil
}
