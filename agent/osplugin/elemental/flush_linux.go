// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openState is the state partition, opened before something is written there: the kernel tells of an error of a later write only those
// who had the file system open at that time.
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

// sync writes to the disk what was written since, and closes the partition; the error is why something is not there.
func (s openState) sync() error {
	if s.directory == nil {
		return nil
	}
	return errors.Join(unix.Syncfs(int(s.directory.Fd())), s.directory.Close())
}

// flush writes the partitions that GRUB reads to disk: GRUB does not replay a journal, and does not find what was only logged there.
// There is no boot loader beneath a root that is not the machine's.
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
