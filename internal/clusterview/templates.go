// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// MadeFrom are the ElementalMachines that were last made from a template of a name. They must not be changed.
func MadeFrom(ctx context.Context, cache client.Reader, namespace, template string) ([]infrav1.ElementalMachine, error) {
	machines := &infrav1.ElementalMachineList{}
	err := cache.List(ctx, machines, client.InNamespace(namespace), client.MatchingFields{ByTemplate: template}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing the ElementalMachines made from ElementalMachineTemplate %s: %w", template, err)
	}
	return machines.Items, nil
}
