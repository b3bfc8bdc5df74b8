// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// replacementPolicy of a change, and where it was found. A change to another template is a rollout, whose
// options were recorded when it began. For any other change the current options apply: the record on the
// template belongs to a rollout that is over.
func (h *Handlers) replacementPolicy(ctx context.Context, c *change) (infrav1.ReplacementPolicy, string, error) {
	if c.fromTemplate != c.toTemplate {
		options, found, err := h.recordedOptions(ctx, c)
		if err != nil {
			return "", "", err
		}
		if found {
			where := fmt.Sprintf("annotation %s of ElementalMachineTemplate %s, which holds for this rollout",
				infrav1.RolloutOptionsAnnotation, c.toTemplate)
			return options.WithDefaults().Replacement, where, nil
		}
	}
	options, where, err := owner.ClusterOptions(ctx, h.Client, c.namespace, c.cluster)
	return options.WithDefaults().Replacement, where, err
}

func (h *Handlers) recordedOptions(ctx context.Context, c *change) (infrav1.NodeUpgradeOption, bool, error) {
	if c.toAnnotations == nil {
		return h.templateOptions(ctx, c.namespace, c.toTemplate)
	}
	inRequest := &infrav1.ElementalMachineTemplate{ObjectMeta: metav1.ObjectMeta{Name: c.toTemplate, Annotations: c.toAnnotations}}
	return rollout.FromAnnotation(inRequest)
}

// templateOptions reads the options that were recorded on a template; a template that is gone has none.
func (h *Handlers) templateOptions(ctx context.Context, namespace, name string) (infrav1.NodeUpgradeOption, bool, error) {
	template, err := existing.Get(ctx, h.Client, &infrav1.ElementalMachineTemplate{}, namespace, name)
	if err != nil || template == nil {
		return infrav1.NodeUpgradeOption{}, false, err
	}
	return rollout.FromAnnotation(template)
}
