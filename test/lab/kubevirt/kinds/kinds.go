// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/served"
)

const (
	poll    = 50 * time.Millisecond
	timeout = process.Patience
)

// kinds to install, and whether they have a status subresource, as in KubeVirt.
var kinds = map[string]bool{
	"VirtualMachine": true, "VirtualMachineInstance": false, "VirtualMachineInstanceMigration": true, "KubeVirt": true,
}

// Install makes an API server serve the kinds. Their objects are not validated.
func Install(ctx context.Context, kube client.Client) error {
	for kind, hasStatus := range kinds {
		if err := kube.Create(ctx, definition(kind, hasStatus)); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the definition of %s: %w", kind, err)
		}
	}
	for kind, hasStatus := range kinds {
		err := wait.PollUntilContextTimeout(ctx, poll, timeout, true, func(ctx context.Context) (bool, error) {
			made := definition(kind, hasStatus)
			if err := kube.Get(ctx, client.ObjectKeyFromObject(made), made); err != nil {
				return false, client.IgnoreNotFound(err)
			}
			objects := &unstructured.UnstructuredList{}
			objects.SetGroupVersionKind(kubevirtv1.GroupVersion.WithKind(kind))
			return kube.List(ctx, objects) == nil, nil
		})
		if err != nil {
			return fmt.Errorf("waiting for %s to be served: %w", kind, err)
		}
	}
	return nil
}

// Uninstall deletes the definitions of the kinds, and so all of their objects.
func Uninstall(ctx context.Context, kube client.Client) error {
	for kind, hasStatus := range kinds {
		if err := kube.Delete(ctx, definition(kind, hasStatus)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting the definition of %s: %w", kind, err)
		}
	}
	for kind, hasStatus := range kinds {
		err := wait.PollUntilContextTimeout(ctx, poll, timeout, true, func(ctx context.Context) (bool, error) {
			return served.HasEnded(ctx, kube, definition(kind, hasStatus), kubevirtv1.GroupVersion.WithKind(kind))
		})
		if err != nil {
			return fmt.Errorf("waiting for the end of %s: %w", kind, err)
		}
	}
	return nil
}

func definition(kind string, hasStatus bool) *unstructured.Unstructured {
	plural := strings.ToLower(kind) + "s"
	version := map[string]any{
		"name": kubevirtv1.GroupVersion.Version, "served": true, "storage": true,
		"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
	}
	if hasStatus {
		version["subresources"] = map[string]any{"status": map[string]any{}}
	}
	made := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"group": kubevirtv1.GroupVersion.Group, "scope": "Namespaced", "versions": []any{version},
			"names": map[string]any{"kind": kind, "listKind": kind + "List", "plural": plural, "singular": strings.ToLower(kind)},
		},
	}}
	made.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	made.SetName(plural + "." + kubevirtv1.GroupVersion.Group)
	return made
}
