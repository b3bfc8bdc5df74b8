// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capi

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Announce creates the Deployment that the provider has in a real cluster, with the feature gates that
// its process really has: our provider reads Cluster API's gates from there. Nothing runs it.
func (p *Provider) Announce(ctx context.Context, kube client.Client, gates string) error {
	for _, object := range p.loaded.OfKind(kindNamespace, kindDeployment) {
		if object.GetKind() == kindDeployment {
			if err := setGates(object, gates); err != nil {
				return fmt.Errorf("announcing %s: %w", p.Name, err)
			}
		}
		if err := (Manifests{object}).Create(ctx, kube); err != nil {
			return err
		}
	}
	return nil
}

func setGates(deployment *unstructured.Unstructured, gates string) error {
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil {
		return fmt.Errorf("reading the containers of Deployment %s: %w", deployment.GetName(), err)
	}
	for i := range containers {
		if container, isMap := containers[i].(map[string]any); isMap {
			container["args"] = []any{"--leader-elect", "--feature-gates=" + gates}
			delete(container, "ports")
		}
	}
	return unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers")
}
