// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubevirt-manifests prints what has to be applied together with the operator of this version of KubeVirt: the
// CRD of KubeVirt objects, from the operator's own generators. The operator makes all others.
package main

import (
	"fmt"
	"os"

	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kubevirt-manifests:", err)
		os.Exit(1)
	}
}

func run() error {
	crd, err := components.NewKubeVirtCrd()
	if err != nil {
		return fmt.Errorf("generating the CRD of KubeVirt objects: %w", err)
	}
	document, err := yaml.Marshal(crd)
	if err != nil {
		return fmt.Errorf("encoding the CRD of KubeVirt objects: %w", err)
	}
	_, err = fmt.Printf("---\n%s", document)
	return err
}
