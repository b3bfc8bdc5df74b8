// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"context"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// ProvePointing is Prove for owners that are to be pointed to a template, with what would keep their Machines from taking its
// content in place. The template is nil where it does not exist yet, and gives no Machine anything. Once Cluster API is at work it
// finds that out itself, and Prove is enough.
func (p *Prover) ProvePointing(ctx context.Context, namespace string, template *infrav1.ElementalMachineTemplate, owners ...owner.Owner) ([]Problem, error) {
	problems, err := p.Prove(ctx, namespace, owners...)
	if err != nil || template == nil {
		return problems, err
	}
	wanted := template.DeepCopy()
	wanted.Spec.Template.Spec.OSVersionManagement = osversion.OfTemplate(template)
	for _, candidate := range owners {
		message, err := p.Owners.RefusedUpdate(ctx, candidate, wanted)
		if err != nil {
			return nil, err
		}
		if message != "" {
			problems = append(problems, Problem{Reason: infrav1.UpdateRefusedReason, Message: message})
		}
	}
	return problems, nil
}
