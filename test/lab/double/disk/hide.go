// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// hiddenDir holds the content of partitions that are not mounted: their directories are empty instead,
// and what is written there is lost with the boot.
const hiddenDir = "/lab/disk/hidden"

// Persistent are the directories of the persistent partition. The recovery system does not mount it.
func Persistent() []string { return []string{"/etc", "/var"} }

// Partitions are the directories of all partitions that a booted host mounts. Live media mounts none.
func Partitions() []string { return append(Persistent(), OEMDir, EFIDir, StateDir) }

// partition is a path on the partition of a directory, mounted or not.
func (d Disk) partition(dir string, parts ...string) string {
	path := d.Path(hiddenDir, dir)
	if _, err := os.Stat(path); err != nil {
		path = d.Path(dir)
	}
	return filepath.Join(append([]string{path}, parts...)...)
}

// OEM is a path on the OEM partition.
func (d Disk) OEM(parts ...string) string { return d.partition(OEMDir, parts...) }

// Hide replaces the directory of an unmounted partition by an empty one.
func (d Disk) Hide(dir string) error {
	hidden := d.Path(hiddenDir, dir)
	if _, err := os.Stat(hidden); err == nil {
		return nil
	}
	err := errors.Join(os.MkdirAll(filepath.Dir(hidden), 0o755), os.MkdirAll(d.Path(dir), 0o755))
	if err == nil {
		err = os.Rename(d.Path(dir), hidden)
	}
	if err != nil {
		return fmt.Errorf("hiding %s: %w", dir, err)
	}
	return os.MkdirAll(d.Path(dir), 0o755)
}

// ShowRecovery mounts the recovery partition in place of the state partition.
func (d Disk) ShowRecovery() error {
	path := d.Path(StateDir)
	if err := errors.Join(os.MkdirAll(d.Recovery(), 0o755), os.RemoveAll(path), os.Symlink(d.Recovery(), path)); err != nil {
		return fmt.Errorf("mounting the recovery partition: %w", err)
	}
	return nil
}

// Show undoes Hide; what was written in the meantime is lost.
func (d Disk) Show(dir string) error {
	hidden := d.Path(hiddenDir, dir)
	if _, err := os.Stat(hidden); err != nil {
		return nil
	}
	if err := errors.Join(os.RemoveAll(d.Path(dir)), os.Rename(hidden, d.Path(dir))); err != nil {
		return fmt.Errorf("showing %s: %w", dir, err)
	}
	return nil
}

// Wipe empties the directory of a partition, mounted or not.
func (d Disk) Wipe(dir string) error {
	path := d.partition(dir)
	if err := errors.Join(os.RemoveAll(path), os.MkdirAll(path, 0o755)); err != nil {
		return fmt.Errorf("wiping %s: %w", dir, err)
	}
	return nil
}
