// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"context"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// ProveUpdate returns what would keep the Machines of owners from taking the content of a template in place.
func (p *Prover) ProveUpdate(ctx context.Context, template *infrav1.ElementalMachineTemplate, owners ...owner.Owner) ([]Problem, error) {
	problems := []Problem{}
	for _, candidate := range owners {
		message, err := p.Owners.RefusedUpdate(ctx, candidate, template)
		if err != nil {
			return nil, err
		}
		if message != "" {
			problems = append(problems, Problem{Reason: infrav1.UpdateRefusedReason, Message: message})
		}
	}
	return problems, nil
}
