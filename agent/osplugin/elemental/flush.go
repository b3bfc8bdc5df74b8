// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"errors"
	"fmt"
	"io/fs"
)

// flush flushes the partitions that GRUB reads: GRUB does not replay a journal, and would miss what is only there. The EFI partition is first: its file
// system does not flush the cache of the disk, which those of the others do.
func (p *Plugin) flush() error {
	for _, path := range []string{p.host.Path(efiDir), p.host.Path(oemDir), p.statePath()} {
		if err := p.sync(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("flushing %s: %w", path, err)
		}
	}
	return nil
}

// syncOf returns how file systems are flushed. Beneath another root than the machine's there is no boot loader.
func syncOf(options Options) func(string) error {
	switch {
	case options.Sync != nil:
		return options.Sync
	case options.Host.Real():
		return syncFileSystem
	}
	return func(string) error { return nil }
}
