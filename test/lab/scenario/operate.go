// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

// Kubectl runs kubectl against the management cluster, and tells it.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	c.Told("kubectl " + strings.Join(readable(args), " "))
	return c.Lab.Kubectl(ctx, args...)
}

// readable quotes arguments as a person would type them.
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

// PatchImage patches the OS image of the workers' template: all that an operator does for an upgrade.
func (c *Cluster) PatchImage(ctx context.Context, os image.Image) error {
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"osVersionManagement":{"osVersion":{"imageUri":%q}}}}}}`, os.URI())
	_, err := c.Kubectl(ctx, "--namespace", c.Namespace(), "patch", "elementalmachinetemplate", Template, "--type", "merge", "--patch", patch)
	return err
}
