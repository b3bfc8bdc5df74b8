// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Host is the machine that the agent runs on.
type Host struct {
	// Root is the directory that all host paths are resolved beneath. "/" on a real host.
	Root string
	// Runner starts processes.
	Runner Runner
	// Clock tells the time and waits.
	Clock Clock
	// Addresses lists the unicast IP addresses of the host's interfaces that are up.
	Addresses func() ([]string, error)
}

// NewHost returns the real host beneath root. An empty root is "/".
func NewHost(root string) *Host {
	if root == "" {
		root = "/"
	}
	return &Host{Root: root, Runner: Processes{}, Clock: WallClock{}, Addresses: InterfaceAddresses}
}

// Path resolves an absolute host path beneath the root.
func (h *Host) Path(path string) string { return filepath.Join(h.Root, path) }

// Real reports whether the root is the machine's own: only then disks have to be flushed for the boot loader.
func (h *Host) Real() bool { return filepath.Clean(h.Root) == "/" }

// Exists reports whether a host path exists. It does not if it cannot be read.
func (h *Host) Exists(path string) bool {
	_, err := os.Stat(h.Path(path))
	return err == nil
}

// ReadTrimmed reads a small file and trims white space. A missing file is empty.
func (h *Host) ReadTrimmed(path string) (string, error) {
	content, err := os.ReadFile(h.Path(path))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return strings.TrimSpace(string(content)), nil
}
