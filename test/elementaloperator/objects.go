// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elementaloperator

import (
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/managedos"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/repository"
)

// Install installs the CRD, and waits until its kind is served.
func Install(config *rest.Config) error {
	root, err := repository.Root()
	if err != nil {
		return err
	}
	definition := filepath.Join(root, "test", "elementaloperator", "managedosversions.yaml")
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: []string{definition}}); err != nil {
		return fmt.Errorf("installing ManagedOSVersions: %w", err)
	}
	return nil
}

// ManagedOSVersion of a type, with an image to upgrade to.
func ManagedOSVersion(namespace, name, kind, image string) *unstructured.Unstructured {
	version := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"version": name, "type": kind, "metadata": map[string]any{"displayName": name, "upgradeImage": image},
	}}}
	version.SetGroupVersionKind(managedos.GroupVersionKind)
	version.SetNamespace(namespace)
	version.SetName(name)
	return version
}
