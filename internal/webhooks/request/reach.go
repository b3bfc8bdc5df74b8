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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/direct"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight/outlook"
)

// preview of the rollout to some Machines of a Cluster. It returns nil if the Cluster is not one of ours.
type preview func(context.Context) (*outlook.Outlook, error)

// reach finds, for each Cluster, the Machines that a change of a template would reach: those that were made from it. It is none for a template of a
// topology, whose content is not rolled out. Nor are those of a Cluster that Rancher drains checked: the patch disrupts no node.
func (v *Validator) reach(ctx context.Context, template *infrav1.ElementalMachineTemplate) ([]preview, error) {
	if _, owned := template.Labels[clusterv1.ClusterTopologyOwnedLabel]; owned {
		return nil, nil
	}
	machines, err := direct.MadeFrom(ctx, v.Client, template)
	if err != nil {
		return nil, err
	}
	names := map[string]sets.Set[string]{}
	for _, machine := range machines {
		if machine.Driver != infrav1.DriverDirect {
			continue
		}
		cluster := machine.Machine.Spec.ClusterName
		if names[cluster] == nil {
			names[cluster] = sets.New[string]()
		}
		names[cluster].Insert(machine.Elemental.Name)
	}
	wanted, found := template.Spec.Template.Spec.OSVersionManagement, []preview{}
	for _, cluster := range slices.Sorted(maps.Keys(names)) {
		key := client.ObjectKey{Namespace: template.Namespace, Name: cluster}
		found = append(found, func(ctx context.Context) (*outlook.Outlook, error) {
			return v.Outlook.OfDirect(ctx, key, names[cluster], wanted, template)
		})
	}
	return found, nil
}
