// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
)

// WriteFile replaces a file so that after a crash at any moment it holds either the old or the new
// content: written beside it, flushed, renamed, and the directory flushed too. Missing directories
// are made with mode 0700.
func WriteFile(path string, content []byte, mode os.FileMode) error {
	directory := filepath.Dir(path)
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return fmt.Errorf("creating %s: %w", directory, err)
	}
	if err := replace(path, content, mode); err != nil {
		return fmt.Errorf("writing %s: %w", path, Unnamed(err))
	}
	return SyncDirectory(directory)
}

func replace(path string, content []byte, mode os.FileMode) (err error) {
	// The temporary file has to be on the same file system, which $TMPDIR need not be.
	file, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(mode))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Cleanup()) }()
	if _, err := file.Write(content); err != nil {
		return err
	}
	return file.CloseAtomicallyReplace()
}

// RemoveFile removes a file, and flushes the directory. A missing file is no error.
func RemoveFile(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing %s: %w", path, err)
	}
	return SyncDirectory(filepath.Dir(path))
}

// Unnamed drops the name of a file from the error of an operation on it: that of a temporary one differs each time, and a message must not.
func Unnamed(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// ReadRegular reads a file whose path is not trusted: only a regular file, since opening a FIFO blocks, and at most limit bytes.
func ReadRegular(path string, limit int64) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return content, err
}

// ReadJSON decodes a file into value and reports whether the file was there.
func ReadJSON(path string, value any) (bool, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", path, err)
	}
	if err := json.Unmarshal(content, value); err != nil {
		return false, fmt.Errorf("decoding %s: %w", path, err)
	}
	return true, nil
}

// WriteJSON encodes value into a file as WriteFile does.
func WriteJSON(path string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	return WriteFile(path, append(content, '\n'), 0o600)
}

// SyncDirectory flushes the names in a directory.
func SyncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	defer directory.Close()
	if err := directory.Sync(); err != nil {
		return fmt.Errorf("flushing %s: %w", path, err)
	}
	return nil
}
