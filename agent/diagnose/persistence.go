// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// ErrNotPersistent says that a directory does not survive a reboot or an upgrade of the OS.
var ErrNotPersistent = errors.New("it does not survive a reboot and an upgrade")

// volatile file systems are in memory.
var volatile = []string{"tmpfs", "ramfs", "rootfs"}

// Persistent returns ErrNotPersistent if directory, a path of the host, is in memory, or on the root file system of a host that boots
// snapshots, which an upgrade replaces.
func Persistent(host *system.Host, directory string) error {
	mounts, err := host.Mounts()
	if err != nil {
		return err
	}
	if len(mounts) == 0 {
		return fmt.Errorf("telling whether %s is persistent: %s is empty", directory, system.MountsFile)
	}
	return persistent(mounts, directory, host.Exists("/run/elemental/active_mode") || host.Exists("/run/elemental/passive_mode"))
}

func persistent(mounts []system.Mount, directory string, snapshots bool) error {
	on := system.MountOf(mounts, filepath.Clean(directory))
	switch {
	case slices.Contains(volatile, on.FileSystem):
		return fmt.Errorf("%s is on %s (%s): %w", directory, on.Target, on.FileSystem, ErrNotPersistent)
	case on.FileSystem == "overlay":
		for _, option := range on.Options {
			if upper, isUpper := strings.CutPrefix(option, "upperdir="); isUpper && upper != directory {
				return persistent(mounts, upper, snapshots)
			}
		}
		return fmt.Errorf("%s is on %s, an overlay that cannot be written: %w", directory, on.Target, ErrNotPersistent)
	case snapshots && on.Target == "/":
		return fmt.Errorf("%s is part of the booted snapshot: %w", directory, ErrNotPersistent)
	}
	return nil
}
