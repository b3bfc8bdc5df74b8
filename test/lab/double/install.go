// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package double

import (
	"context"
	"os"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/boot"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
)

// installOS simulates `elemental install [DEVICE]`. The host's disks are the files in its /dev.
func installOS(ctx context.Context, c *Call, o options, args []string) int {
	src, err := c.installSource()
	if err != nil {
		return c.fail(exitSpec, "ERRO invalid install command setup failed sanitizing install spec: %v", err)
	}
	target := c.getenv("ELEMENTAL_INSTALL_TARGET")
	if len(args) > 0 {
		target = args[0]
	}
	if target == "" {
		return c.fail(exitTarget, "Error: at least a target device must be supplied")
	}
	if _, err := os.Stat(c.real(target)); err != nil {
		return c.fail(exitFailed, "ERRO install command failed: disk %s does not exist", target)
	}
	action := c.action(src, o)
	for path := range strings.SplitSeq(c.getenv("ELEMENTAL_INSTALL_CLOUD_INIT"), ",") {
		if path != "" {
			action.CloudInit = append(action.CloudInit, c.real(path))
		}
	}
	if err := action.Install(ctx); err != nil {
		return c.fail(exitFailed, "ERRO install command failed: %v", err)
	}
	return c.powerAction(o)
}

// installSource is the tree of the live media, unless another source is given.
func (c *Call) installSource() (source.Source, error) {
	if system := c.getenv("ELEMENTAL_INSTALL_SYSTEM"); system != "" {
		return source.Parse(system)
	}
	return source.Source{Kind: source.Dir, Value: c.Disk.Path(boot.LiveTree)}, nil
}
