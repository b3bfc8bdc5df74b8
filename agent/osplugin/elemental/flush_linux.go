// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openState is the state partition, opened before something is written to it: the kernel reports a later write error only to those who had
// the file system open at that time.
// Source: syncfs(2), errors since Linux 5.8.
type openState struct{ directory *os.File }

func (p *Plugin) openState() (openState, error) {
	if !p.host.Real() {
		return openState{}, nil
	}
	directory, err := os.Open(p.statePath())
	if err != nil {
		return openState{}, fmt.Errorf("opening the state partition: %w", err)
	}
	return openState{directory}, nil
}

// sync flushes what was written since, and closes the partition; an error means that not everything is on the disk.
func (s openState) sync() error {
	if s.directory == nil {
		return nil
	}
	return errors.Join(unix.Syncfs(int(s.directory.Fd())), s.directory.Close())
}

// flush flushes the partitions that GRUB reads: GRUB does not replay a journal, and would miss what is only there. Beneath another root than
// the machine's there is no boot loader.
func (p *Plugin) flush() error {
	if !p.host.Real() {
		return nil
	}
	for _, path := range []string{p.statePath(), p.host.Path(oemDir), p.host.Path(efiDir)} {
		directory, err := os.Open(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("flushing %s: %w", path, err)
		}
		err = errors.Join(unix.Syncfs(int(directory.Fd())), directory.Close())
		if err != nil {
			return fmt.Errorf("flushing %s: %w", path, err)
		}
	}
	return nil
}
