// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// prove looks for anything that would make Cluster API replace the Machines of these owners instead of
// updating them in place.
func (r *Reconciler) prove(ctx context.Context, seen *observation, candidates []placed) ([]inplace.Problem, error) {
	owners := []owner.Owner{}
	for _, candidate := range candidates {
		owners = append(owners, candidate.Owner)
	}
	prover := &inplace.Prover{Live: r.Live, Owners: r.Owners}
	return prover.Prove(ctx, seen.template.Namespace, owners...)
}
