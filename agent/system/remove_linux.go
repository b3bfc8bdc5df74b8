// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// RemoveTree removes an entry of a directory recursively, and fails at a mount point, or at a symbolic link in place of a directory. A
// partition that was mounted by mistake beneath the entry keeps its files.
func RemoveTree(directory, name string) error {
	parent, err := os.Open(directory)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing %s: %w", filepath.Join(directory, name), err)
	}
	defer func() { _ = parent.Close() }()
	if err := removeAt(parent, name); err != nil {
		return fmt.Errorf("removing %s: %w", filepath.Join(directory, name), err)
	}
	return nil
}

func removeAt(parent *os.File, name string) error {
	at := int(parent.Fd())
	err := unix.Unlinkat(at, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	// Linux returns EISDIR for a directory, and EBUSY for a mount point.
	if !errors.Is(err, unix.EISDIR) {
		return &os.PathError{Op: "unlink", Path: name, Err: err}
	}
	if err := emptyAt(at, name); err != nil {
		return err
	}
	if err := unix.Unlinkat(at, name, unix.AT_REMOVEDIR); err != nil {
		return &os.PathError{Op: "rmdir", Path: name, Err: err}
	}
	return nil
}

func emptyAt(parent int, name string) error {
	descriptor, err := unix.Openat2(parent, name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS,
	})
	if errors.Is(err, unix.EXDEV) {
		return &os.PathError{Op: "open", Path: name, Err: errors.New("something is mounted there")}
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	directory := os.NewFile(uintptr(descriptor), name)
	defer func() { _ = directory.Close() }()
	names, err := directory.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, each := range names {
		if err := removeAt(directory, each); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
