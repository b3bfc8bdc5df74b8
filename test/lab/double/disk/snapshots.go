// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Snapshots is the directory of a state partition with all snapshots.
type Snapshots string

// Path is a path of a snapshot; without parts its directory.
func (s Snapshots) Path(id int, parts ...string) string {
	return filepath.Join(append([]string{string(s), strconv.Itoa(id)}, parts...)...)
}

// IDs are those of all snapshots, partially written ones included, in ascending order: the toolkit treats every directory with a
// numeric name as one.
func (s Snapshots) IDs() ([]int, error) {
	entries, err := os.ReadDir(string(s))
	if err != nil {
		return nil, fmt.Errorf("listing snapshots: %w", err)
	}
	var ids []int
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// Active is the snapshot that the next boot uses by default: the target of the symlink, even if that does
// not exist; 0 without a symlink.
func (s Snapshots) Active() (int, error) {
	target, err := os.Readlink(s.link())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading active snapshot: %w", err)
	}
	id, err := strconv.Atoi(filepath.Base(filepath.Dir(target)))
	if err != nil {
		return 0, fmt.Errorf("parsing active snapshot %q: %w", target, err)
	}
	return id, nil
}

// SetActive points the symlink to a snapshot. It removes the former one first, as the toolkit does.
func (s Snapshots) SetActive(id int) error {
	if err := os.Remove(s.link()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing active link: %w", err)
	}
	return os.Symlink(filepath.Join(strconv.Itoa(id), SnapshotImage), s.link())
}

func (s Snapshots) link() string { return filepath.Join(string(s), ActiveLink) }
