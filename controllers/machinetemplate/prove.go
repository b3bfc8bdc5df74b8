// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

func (r *Reconciler) prover() *inplace.Prover {
	return &inplace.Prover{Live: r.Live, Owners: r.Owners}
}

// provePointing returns what would have the Machines of the owners that are to be moved replaced. Those that cannot be
// looked at are noted as failed.
func (r *Reconciler) provePointing(ctx context.Context, seen *observation) ([]inplace.Problem, error) {
	prover := r.prover()
	problems, err := prover.ProveManagers(ctx, seen.template.Namespace, ownersOf(seen.at(pending))...)
	if err != nil {
		return nil, err
	}
	for i := range seen.owners {
		candidate := &seen.owners[i]
		if candidate.position != pending {
			continue
		}
		var found []inplace.Problem
		found, candidate.failed = prover.ProveOwner(ctx, candidate.Owner, seen.template)
		problems = append(problems, found...)
	}
	return problems, nil
}

func ownersOf(candidates []placed) []owner.Owner {
	owners := []owner.Owner{}
	for _, candidate := range candidates {
		owners = append(owners, candidate.Owner)
	}
	return owners
}
