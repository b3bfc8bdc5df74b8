// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import "context"

// underWay returns the owners that have Machines which Cluster API has not brought to the owner's
// template, or is just bringing there.
func (r *Reconciler) underWay(ctx context.Context, seen *observation) ([]placed, error) {
	found := []placed{}
	for _, candidate := range seen.owners {
		isUnderWay, err := r.viewOf(seen, candidate).IsUnderWay(ctx, candidate)
		if err != nil {
			return nil, err
		}
		if isUnderWay {
			found = append(found, candidate)
		}
	}
	return found, nil
}
