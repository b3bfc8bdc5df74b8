// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// prove looks for anything that would make Cluster API replace the Machines of these owners instead of
// updating them in place.
func (r *Reconciler) prove(ctx context.Context, seen *observation, candidates []placed) ([]inplace.Problem, error) {
	return r.prover().Prove(ctx, seen.template.Namespace, ownersOf(candidates)...)
}

// provePending looks also whether their Machines could take the template's content. Once Cluster API is at work that is
// its own to find out.
func (r *Reconciler) provePending(ctx context.Context, seen *observation) ([]inplace.Problem, error) {
	candidates := seen.at(pending)
	problems, err := r.prove(ctx, seen, candidates)
	if err != nil {
		return nil, err
	}
	wanted := seen.template.DeepCopy()
	wanted.Spec.Template.Spec.OSVersionManagement = osversion.OfTemplate(wanted)
	refused, err := r.prover().ProveUpdate(ctx, wanted, ownersOf(candidates)...)
	return append(problems, refused...), err
}

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
