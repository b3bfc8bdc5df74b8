// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

// ApplyUpgrade applies an ElementalClusterUpgrade as a person does. Spec is the YAML of what it has besides the Cluster and the image, indented by
// two.
func (c *Cluster) ApplyUpgrade(ctx context.Context, name string, wanted image.Image, spec string) error {
	file := filepath.Join(c.Lab.Dir(), c.Options.Name+"-"+name+".yaml")
	manifest := fmt.Sprintf(`apiVersion: %s
kind: ElementalClusterUpgrade
metadata:
  name: %s
  namespace: %s
spec:
  clusterName: %s
  osVersion:
    imageURI: %s
%s`, infrav1.GroupVersion, name, c.Namespace(), c.Options.Name, wanted.URI(), spec)
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		return fmt.Errorf("writing the manifest of ElementalClusterUpgrade %s: %w", name, err)
	}
	_, err := c.Kubectl(ctx, "apply", "--filename", file)
	return err
}

// Upgrade is an ElementalClusterUpgrade of the Cluster.
func (c *Cluster) Upgrade(ctx context.Context, name string) (*infrav1.ElementalClusterUpgrade, error) {
	found := &infrav1.ElementalClusterUpgrade{}
	return found, c.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace(), Name: name}, found)
}
