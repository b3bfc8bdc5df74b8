// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// MadeFrom are the Machines that were last made from a template, or moved to it by Cluster API, with what upgrades their hosts. Those that are being
// deleted are left out. The cache has the indexes of package clusterview.
func MadeFrom(ctx context.Context, cache client.Reader, template *infrav1.ElementalMachineTemplate) ([]Machine, error) {
	elementals, err := clusterview.MadeFrom(ctx, cache, template.Namespace, template.Name)
	if err != nil {
		return nil, err
	}
	found := []Machine{}
	for i := range elementals {
		elemental := &elementals[i]
		if !elemental.DeletionTimestamp.IsZero() {
			continue
		}
		machine, err := clusterview.New(cache, clusterview.ClusterOf(elemental)).MachineOf(ctx, elemental)
		if err != nil {
			return nil, err
		}
		if machine == nil || !machine.DeletionTimestamp.IsZero() {
			continue
		}
		driver, err := owner.DriverOf(ctx, cache, machine)
		if err != nil {
			return nil, err
		}
		found = append(found, Machine{Machine: machine, Elemental: elemental.DeepCopy(), Owner: owner.NameOf(machine), Driver: driver})
	}
	return found, nil
}
