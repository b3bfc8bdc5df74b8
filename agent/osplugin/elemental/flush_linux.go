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

// syncFileSystem flushes the file system of a path, twice: the kernel flushes the cache of the disk when the journal is written, and only then writes what
// is in the journal to its place, from where a boot loader reads. The second time flushes the cache after that, too.
// Source: Linux, sync_filesystem and ext4_sync_fs.
func syncFileSystem(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	descriptor := int(directory.Fd())
	return errors.Join(unix.Syncfs(descriptor), unix.Syncfs(descriptor), directory.Close())
}
