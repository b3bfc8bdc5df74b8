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

const mountTable = "/proc/self/mountinfo"

// ErrNotPersistent says that what is written to a directory is gone after a reboot or an upgrade of the OS.
var ErrNotPersistent = errors.New("it does not outlive a reboot and an upgrade")

// volatile file systems are in memory.
var volatile = []string{"tmpfs", "ramfs", "rootfs"}

type mount struct {
	target, fileSystem string
	options            []string
}

// Persistent returns ErrNotPersistent if directory, a path of the host, is in memory, or part of the OS that an upgrade replaces: on
// the root file system of a host that boots snapshots.
func Persistent(host *system.Host, directory string) error {
	content, err := host.ReadTrimmed(mountTable)
	if err != nil {
		return err
	}
	table := parse(content)
	if len(table) == 0 {
		return fmt.Errorf("telling whether %s is persistent: %s is empty", directory, mountTable)
	}
	return table.persistent(directory, host.Exists("/run/elemental/active_mode") || host.Exists("/run/elemental/passive_mode"))
}

type mounts []mount

func parse(content string) mounts {
	var table mounts
	for line := range strings.Lines(content) {
		ofMount, ofFileSystem, found := strings.Cut(line, " - ")
		fields, rest := strings.Fields(ofMount), strings.Fields(ofFileSystem)
		if !found || len(fields) < 6 || len(rest) < 3 {
			continue
		}
		table = append(table, mount{target: fields[4], fileSystem: rest[0], options: strings.Split(rest[2], ",")})
	}
	return table
}

// of is the mount that a path is on: the deepest and, of several at one place, the one on top.
func (m mounts) of(path string) (found mount) {
	for _, each := range m {
		inside := each.target == "/" || path == each.target || strings.HasPrefix(path, each.target+"/")
		if inside && len(each.target) >= len(found.target) {
			found = each
		}
	}
	return found
}

func (m mounts) persistent(directory string, snapshots bool) error {
	on := m.of(filepath.Clean(directory))
	switch {
	case slices.Contains(volatile, on.fileSystem):
		return fmt.Errorf("%s is on %s (%s): %w", directory, on.target, on.fileSystem, ErrNotPersistent)
	case on.fileSystem == "overlay":
		for _, option := range on.options {
			if upper, isUpper := strings.CutPrefix(option, "upperdir="); isUpper && upper != directory {
				return m.persistent(upper, snapshots)
			}
		}
		return fmt.Errorf("%s is on %s, an overlay that cannot be written: %w", directory, on.target, ErrNotPersistent)
	case snapshots && on.target == "/":
		return fmt.Errorf("%s is part of the booted snapshot: %w", directory, ErrNotPersistent)
	}
	return nil
}
