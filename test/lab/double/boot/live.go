// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"
	"fmt"
	"os"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
)

// Live is the mode, and the boot entry, of a host that runs from live media.
const Live = "live"

const (
	// MediaDir is the directory of live media on a lab host.
	MediaDir = "/lab/media"
	// LiveTree is the root tree of the media on a host that runs from it.
	// Source: elemental-toolkit v2.3.2, constants.ISOBaseTree.
	LiveTree = "/run/rootfsbase"
)

// Insert puts media with the tree of an image into the host's drive.
func Insert(ctx context.Context, d disk.Disk, tree source.Source, options source.Options) error {
	if err := os.MkdirAll(d.Path(MediaDir), 0o755); err != nil {
		return fmt.Errorf("making live media: %w", err)
	}
	if _, err := tree.Extract(ctx, d.Path(MediaDir), options); err != nil {
		return fmt.Errorf("making live media: %w", err)
	}
	return nil
}

// Firmware boots from the disk if it has a boot loader, and otherwise from the media.
func Firmware(d disk.Disk) (System, error) {
	if _, err := os.Stat(d.GrubOEMEnv()); err == nil {
		return Next(d)
	}
	if _, err := os.Stat(d.Path(MediaDir)); err != nil {
		return Next(d)
	}
	image, err := source.OpenTree(d.Path(MediaDir))
	return System{Choice: grub.Choice{Entry: grub.Entry{ID: Live, Mode: Live}}, Image: image}, err
}
