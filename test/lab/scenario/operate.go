// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

// Kubectl runs kubectl against the management cluster, and reports it to Told.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	c.Told("kubectl " + strings.Join(readable(args), " "))
	return c.Lab.Kubectl(ctx, args...)
}

// WorkloadKubectl runs kubectl against the workload cluster, and reports it to Told.
func (c *Cluster) WorkloadKubectl(ctx context.Context, args ...string) (string, error) {
	c.Told("kubectl --kubeconfig workload " + strings.Join(readable(args), " "))
	return c.Lab.WorkloadKubectl(ctx, args...)
}

// readable quotes arguments as a person would write them.
func readable(args []string) []string {
	typed := make([]string, 0, len(args))
	for _, arg := range args {
		switch {
		case strings.ContainsAny(arg, " {}\"'"):
			arg = "'" + arg + "'"
		case strings.HasPrefix(arg, "/"):
			arg = filepath.Base(arg)
		}
		typed = append(typed, arg)
	}
	return typed
}

// PatchImage patches the OS image of the workers' template, which is all that an operator does for an
// upgrade.
func (c *Cluster) PatchImage(ctx context.Context, os image.Image) error {
	return c.PatchPool(ctx, c.TemplateOf(Deployment), os)
}

// TemplateOf is the name of the template that the MachineDeployment of a pool refers to.
func (c *Cluster) TemplateOf(pool string) string { return cmp.Or(c.rotated[pool], pool) }

// PatchPool patches the OS image of a pool's template.
func (c *Cluster) PatchPool(ctx context.Context, pool string, os image.Image) error {
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"osVersionManagement":{"osVersion":{"imageURI":%q}}}}}}`, os.URI())
	return c.patch(ctx, "elementalmachinetemplate", pool, patch)
}

// PatchUpgradeOption changes how the cluster's nodes are upgraded, from the next rollout on.
func (c *Cluster) PatchUpgradeOption(ctx context.Context, option string) error {
	return c.patch(ctx, "elementalcluster", c.Options.Name, `{"spec":{"nodeUpgradeOption":`+option+`}}`)
}

func (c *Cluster) patch(ctx context.Context, kind, name, patch string) error {
	_, err := c.Kubectl(ctx, "--namespace", c.Namespace(), "patch", kind, name, "--type", "merge", "--patch", patch)
	return err
}

// Recreate applies the manifests again after the Cluster, or a part of it, was deleted, and waits until all
// workers are up. The hosts already exist.
func (c *Cluster) Recreate(ctx context.Context) error {
	for _, step := range []func(context.Context) error{c.apply, c.AwaitWorkers} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("creating cluster %s again: %w", c.Options.Name, err)
		}
	}
	return nil
}
