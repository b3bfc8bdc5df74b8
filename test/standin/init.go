// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// features are the files that an OS image gets, in place of the toolkit's: GRUB's configuration, the boot assessment, and the units of stages.
//
//go:embed features
var features embed.FS

// Init writes these files to the running system, which is the tree of an OS image, and enables the units. It makes no initramfs.
func (m *Machine) Init() error {
	if err := makeDirs("/"); err != nil {
		return err
	}
	return fs.WalkDir(features, "features", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := features.ReadFile(path)
		if err != nil {
			return err
		}
		target, mode := strings.TrimPrefix(path, "features"), os.FileMode(0o644)
		if strings.HasPrefix(target, "/usr/sbin/") {
			mode = 0o755
		}
		err = errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, content, mode), os.Chmod(target, mode))
		if err == nil && strings.HasSuffix(target, ".service") {
			err = m.run("systemctl", "enable", filepath.Base(target))
		}
		return err
	})
}
