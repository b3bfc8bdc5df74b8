// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// Family are the ElementalMachineTemplates of a namespace with the same source, by the value that label SourceTemplateLabel has of
// its name: the source itself, and its clones. They must not be changed.
func Family(ctx context.Context, cache client.Reader, namespace, source string) ([]infrav1.ElementalMachineTemplate, error) {
	found := &infrav1.ElementalMachineTemplateList{}
	err := cache.List(ctx, found, client.InNamespace(namespace), client.MatchingFields{bySource: source}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing ElementalMachineTemplate %s and its clones: %w", source, err)
	}
	return found.Items, nil
}

func sourceOfTemplate(object client.Object) []string { return named(rollout.FamilyOf(object)) }

// Source is the template of which another is a clone, or that one itself if it is none. It is nil if it is gone, and must not be changed.
func Source(ctx context.Context, cache client.Reader, template *infrav1.ElementalMachineTemplate) (*infrav1.ElementalMachineTemplate, error) {
	if !rollout.IsClone(template) {
		return template, nil
	}
	label := template.Labels[infrav1.SourceTemplateLabel]
	family, err := Family(ctx, cache, template.Namespace, label)
	for i := range family {
		if !rollout.IsClone(&family[i]) && rollout.LabelValue(family[i].Name) == label {
			return &family[i], err
		}
	}
	return nil, err
}

// MadeFrom are the ElementalMachines that were last made from a template of a name. They must not be changed.
func MadeFrom(ctx context.Context, cache client.Reader, namespace, template string) ([]infrav1.ElementalMachine, error) {
	machines := &infrav1.ElementalMachineList{}
	err := cache.List(ctx, machines, client.InNamespace(namespace), client.MatchingFields{ByTemplate: template}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing the ElementalMachines made from ElementalMachineTemplate %s: %w", template, err)
	}
	return machines.Items, nil
}
