// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/google/renameio/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// layout is how one of the toolkit's snapshotters stores snapshots.
type layout interface {
	// whole reports whether a snapshot can be booted.
	whole(snapshot int32) bool
	// next returns the snapshot that GRUB's entry "active" boots, which the toolkit sets before it records anything; 0 for none.
	next(ctx context.Context) (int32, error)
	// setNext changes it atomically: the host can be booted at any time.
	setNext(ctx context.Context, snapshot int32) error
	// variables returns the GRUB variables that depend on it.
	variables(snapshot int32) map[string]string
	// root returns the path with which a snapshot's files are compared.
	root(snapshot int32) string
	// remove removes a snapshot and its directory, whether it is complete or not.
	remove(ctx context.Context, snapshot int32) error
}

func (p *Plugin) layout(state installState) layout {
	if state.Snapshotter.Type == btrfs {
		return subvolumes{p}
	}
	return images{p}
}

// images are the snapshots of the loopdevice snapshotter: files with a file system, and a link to the default one.
type images struct{ *Plugin }

// whole: with a full state partition, the CLI leaves an empty image and exits with 0.
func (i images) whole(snapshot int32) bool {
	info, err := os.Stat(i.root(snapshot))
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

func (i images) next(context.Context) (int32, error) {
	target, err := os.Readlink(filepath.Join(i.snapshotsPath(), activeLink))
	if err != nil {
		return 0, nil // no default
	}
	id, err := parseID(filepath.Base(filepath.Dir(target)))
	if err != nil {
		return 0, nil // not written by the toolkit
	}
	return id, nil
}

// setNext returns after the change is on the disk, as for subvolumes.
func (i images) setNext(_ context.Context, snapshot int32) error {
	target := fmt.Sprintf("%d/%s", snapshot, snapshotImage)
	err := renameio.Symlink(target, filepath.Join(i.snapshotsPath(), activeLink))
	if err == nil {
		err = system.SyncDirectory(i.snapshotsPath())
	}
	if err != nil {
		return fmt.Errorf("making snapshot %d the default: %w", snapshot, err)
	}
	return nil
}

func (images) variables(int32) map[string]string { return nil }

func (i images) root(snapshot int32) string {
	return filepath.Join(i.snapshotPath(snapshot), snapshotImage)
}

func (i images) remove(_ context.Context, snapshot int32) error {
	return system.RemoveTree(i.snapshotsPath(), strconv.Itoa(int(snapshot)))
}
