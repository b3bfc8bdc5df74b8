// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// DefaultStateBytes is the size of the state partition unless SetStateBytes sets another one. Source:
// elemental-toolkit v2.3.2, constants.StateSize (8192 MiB).
const DefaultStateBytes int64 = 8 << 30

// SetStateBytes sets the size of the state partition in bytes.
func (d Disk) SetStateBytes(n int64) error {
	return d.WriteFile(sizeFile, []byte(strconv.FormatInt(n, 10)))
}

// reservedDivisor is the fraction of a file system that is reserved for root, who can write there although df
// does not report it as available. Source: mke2fs(8), -m.
const reservedDivisor = 20

// Available is the free space of the state partition in bytes, as df reports it.
func (d Disk) Available() int64 { return max(0, d.Writable()-d.stateBytes()/reservedDivisor) }

// Writable is how many bytes root can write to the state partition.
func (d Disk) Writable() int64 { return max(0, d.stateBytes()-treeSize(d.State())) }

func (d Disk) stateBytes() int64 {
	total := DefaultStateBytes
	if data, err := os.ReadFile(d.Path(sizeFile)); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil {
			total = n
		}
	}
	return total
}

// treeSize sums the file sizes of a tree. Files that vanish during the walk are ignored.
func treeSize(root string) int64 {
	var sum int64
	_ = filepath.WalkDir(root, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
