// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// disk is the state partition, opened before something is written there: what could not be written later is told only to those who
// had it open.
type disk struct{ directory *os.File }

func (p *Plugin) watchDisk() (disk, error) {
	if !p.host.Real() {
		return disk{}, nil
	}
	directory, err := os.Open(p.statePath())
	if err != nil {
		return disk{}, fmt.Errorf("opening the state partition: %w", err)
	}
	return disk{directory}, nil
}

// flush has on the disk what was written since, or says why it is not there.
func (d disk) flush() error {
	if d.directory == nil {
		return nil
	}
	return errors.Join(unix.Syncfs(int(d.directory.Fd())), d.directory.Close())
}

// flush writes the partitions that GRUB reads to disk: it does not replay a journal, so what was only
// logged there is not found at boot. There is no boot loader beneath a root that is not the
// machine's.
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
