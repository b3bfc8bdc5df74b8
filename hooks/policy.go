// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// replacementPolicy of a change, and where it was found. A change to another template is a rollout, whose options were recorded when it began. For any other
// change the current options apply: a record of the template belongs to a rollout that is over.
func (h *Handlers) replacementPolicy(ctx context.Context, c *change) (infrav1.ReplacementPolicy, string, error) {
	current, err := h.currentRollout(ctx, c)
	if err != nil {
		return "", "", err
	}
	if current != nil {
		return current.Spec.Options.WithDefaults().Replacement, "spec.options of ElementalRollout " + current.Name + ", which hold for this rollout", nil
	}
	options, where, err := owner.ClusterOptions(ctx, h.Client, c.namespace, c.cluster)
	return options.WithDefaults().Replacement, where, err
}

// currentRollout of the template that a change is to; nil if there is none.
func (h *Handlers) currentRollout(ctx context.Context, c *change) (*infrav1.ElementalRollout, error) {
	if c.fromTemplate == c.toTemplate {
		return nil, nil
	}
	template, err := existing.Get(ctx, h.Client, &infrav1.ElementalMachineTemplate{}, c.namespace, c.toTemplate)
	if err != nil || template == nil {
		return nil, err
	}
	return rollout.CurrentOf(ctx, h.Client, template, c.cluster)
}
