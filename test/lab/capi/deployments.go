// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Announce creates the Deployment that the provider has in a real cluster, with the feature gates that its
// process actually has: our provider reads Cluster API's feature gates from it. No Pods are run for it.
func (p *Provider) Announce(ctx context.Context, kube client.Client) error {
	for _, object := range p.loaded.OfKind(kindNamespace, kindDeployment) {
		if object.GetKind() == kindDeployment {
			if err := setGates(object, gatesIn(p.Args)); err != nil {
				return fmt.Errorf("announcing %s: %w", p.Name, err)
			}
		}
		if err := (Manifests{object}).Create(ctx, kube); err != nil {
			return err
		}
	}
	return nil
}

// AdoptGates starts the manager with the feature gates of its Deployment, which something else has installed.
func (p *Provider) AdoptGates(ctx context.Context, kube client.Client) error {
	for _, object := range p.loaded.OfKind(kindDeployment) {
		installed := &appsv1.Deployment{}
		if err := kube.Get(ctx, client.ObjectKeyFromObject(object), installed); err != nil {
			return fmt.Errorf("reading the gates of %s: %w", p.Name, err)
		}
		for _, container := range installed.Spec.Template.Spec.Containers {
			p.Args = append(slices.DeleteFunc(p.Args, isGates), gatesIn(container.Args)...)
		}
	}
	return nil
}

func isGates(arg string) bool { return strings.HasPrefix(arg, "--feature-gates=") }

// gatesIn returns the arguments that set feature gates.
func gatesIn(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return !isGates(arg) })
}

func setGates(deployment *unstructured.Unstructured, gates []string) error {
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil {
		return fmt.Errorf("reading the containers of Deployment %s: %w", deployment.GetName(), err)
	}
	args := []any{"--leader-elect"}
	for _, gate := range gates {
		args = append(args, gate)
	}
	for i := range containers {
		if container, isMap := containers[i].(map[string]any); isMap {
			container["args"] = slices.Clone(args)
			delete(container, "ports")
		}
	}
	return unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers")
}
