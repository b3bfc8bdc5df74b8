// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// RemoveStale removes from a former tree, over which a new one is copied, the files that the copy would skip because their size and time
// match, although their content differs. Images in which all files have the same time are common.
func RemoveStale(root, former string) error {
	inside, err := os.OpenRoot(former)
	if err != nil {
		return err
	}
	defer func() { _ = inside.Close() }()
	return filepath.WalkDir(root, func(path string, found fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if slices.Contains(transient, relative) {
			return skip(found)
		}
		if !found.Type().IsRegular() {
			return nil
		}
		isStale, err := stale(inside, path, relative)
		if err != nil || !isStale {
			return err
		}
		return inside.Remove(relative)
	})
}

// stale reports whether the copy would skip a file of the former tree although its content differs. os.Root rejects symbolic links that lead
// out of the tree.
func stale(former *os.Root, path, relative string) (bool, error) {
	is, err := os.Lstat(path)
	if err != nil {
		return false, err
	}
	was, err := former.Lstat(relative)
	if err != nil || !was.Mode().IsRegular() || was.Size() != is.Size() || was.ModTime().Unix() != is.ModTime().Unix() {
		return false, nil // it will be copied
	}
	before, err := former.Open(relative)
	if err != nil {
		return false, err
	}
	defer func() { _ = before.Close() }()
	after, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = after.Close() }()
	same, err := equal(before, after)
	if err != nil {
		return false, fmt.Errorf("comparing %s with that of the former OS: %w", path, err)
	}
	return !same, nil
}

func equal(a, b io.Reader) (bool, error) {
	first, second := sha256.New(), sha256.New()
	_, err := io.Copy(first, a)
	_, more := io.Copy(second, b)
	return slices.Equal(first.Sum(nil), second.Sum(nil)), errors.Join(err, more)
}
