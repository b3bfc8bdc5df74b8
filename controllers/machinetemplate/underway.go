// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
)

// underWay returns the owners that have Machines which Cluster API has not brought to the owner's
// template, or is just bringing there.
func (r *Reconciler) underWay(ctx context.Context, seen *observation) ([]placed, error) {
	found := []placed{}
	for _, candidate := range seen.owners {
		view := clusterview.New(r.Client, client.ObjectKey{Namespace: seen.template.Namespace, Name: candidate.ClusterName()})
		isUnderWay, err := view.IsUnderWay(ctx, candidate)
		if err != nil {
			return nil, err
		}
		if isUnderWay {
			found = append(found, candidate)
		}
	}
	return found, nil
}
