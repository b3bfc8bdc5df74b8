// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

func (r *Reconciler) prover() *inplace.Prover {
	return &inplace.Prover{Live: r.Live, Owners: r.Owners}
}

func ownersOf(candidates []placed) []owner.Owner {
	owners := []owner.Owner{}
	for _, candidate := range candidates {
		owners = append(owners, candidate.Owner)
	}
	return owners
}
