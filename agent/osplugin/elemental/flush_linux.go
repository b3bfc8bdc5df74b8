// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

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
