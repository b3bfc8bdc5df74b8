// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
)

// DirEnv is the environment variable with the folder of CAPRKE2's managers and CRDs.
const DirEnv = "CAPRKE2_DIR"

// controlPlaneUser is the service account of the control plane manager, as in a real cluster: our webhooks ask who deletes a Machine.
const controlPlaneUser = "system:serviceaccount:rke2-control-plane-system:rke2-control-plane-manager"

//go:embed manifests.yaml
var manifests []byte

// Dir is the folder of CAPRKE2's managers and CRDs; empty if there is none.
func Dir() string { return os.Getenv(DirEnv) }

// Providers are CAPRKE2's bootstrap manager and its control plane manager, the one that calls hooks, in this order. Files with their
// manifests are written to dir.
func Providers(dir, gates string) ([]*capi.Provider, error) {
	crds, err := writeCRDs(dir)
	if err != nil {
		return nil, err
	}
	others := filepath.Join(dir, "rke2-manifests.yaml")
	if err := os.WriteFile(others, manifests, 0o644); err != nil {
		return nil, fmt.Errorf("writing the manifests of CAPRKE2: %w", err)
	}
	newProvider := func(name, binary string, files ...string) *capi.Provider {
		return &capi.Provider{
			Name: name, Binary: filepath.Join(Dir(), binary), Manifests: files,
			Args: []string{"--feature-gates=" + gates, "--diagnostics-address=0", "--leader-elect=false", "--v=4"},
		}
	}
	providers := []*capi.Provider{
		newProvider("caprke2-bootstrap", "bootstrap-manager", crds...),
		newProvider("caprke2-control-plane", "control-plane-manager", others),
	}
	providers[1].User = controlPlaneUser
	return providers, nil
}

// writeCRDs writes the CRDs with the label of Cluster API's contract, which CAPRKE2's own build adds.
func writeCRDs(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(Dir(), "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no CRDs in %s, the folder that %s names: %w", filepath.Join(Dir(), "crds"), DirEnv, err)
	}
	loaded, err := capi.Load(files...)
	if err != nil {
		return nil, err
	}
	written := []string{}
	for _, crd := range loaded {
		crd.SetLabels(map[string]string{clusterv1.GroupVersion.Group + "/v1beta1": "v1beta1", clusterv1.GroupVersion.Group + "/v1beta2": "v1beta2"})
		content, err := yaml.Marshal(crd.Object)
		if err != nil {
			return nil, fmt.Errorf("encoding CRD %s: %w", crd.GetName(), err)
		}
		file := filepath.Join(dir, crd.GetName()+".yaml")
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return nil, fmt.Errorf("writing CRD %s: %w", crd.GetName(), err)
		}
		written = append(written, file)
	}
	return written, nil
}
