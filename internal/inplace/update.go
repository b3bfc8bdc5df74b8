// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"context"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// ProvePointing is Prove for owners whose reference is about to be changed to a template, with what would keep their Machines from taking its
// content in place. The template is nil where it does not exist yet, and gives no Machine anything. Once Cluster API is at work it
// finds that out itself, and Prove is enough.
func (p *Prover) ProvePointing(ctx context.Context, namespace string, template *infrav1.ElementalMachineTemplate, owners ...owner.Owner) ([]Problem, error) {
	problems, err := p.ProveManagers(ctx, namespace, owners...)
	if err != nil {
		return nil, err
	}
	for _, candidate := range owners {
		found, err := p.ProveOwner(ctx, candidate, template)
		if err != nil {
			return nil, err
		}
		problems = append(problems, found...)
	}
	return problems, nil
}
