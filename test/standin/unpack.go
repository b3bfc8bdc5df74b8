// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// xattrPrefix is that of the records of a tar header with extended attributes.
const xattrPrefix = "SCHILY.xattr."

// unpack writes the files of a tar stream into a directory, with owners, modes, times and extended attributes. Names and links that lead out of the
// directory are errors.
func unpack(stream io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	times := map[string]time.Time{}
	for files := tar.NewReader(stream); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("unpacking: %w", err)
		}
		name := filepath.Clean(strings.TrimLeft(header.Name, "/"))
		if err := unpackFile(root, name, header, files); err != nil {
			return fmt.Errorf("unpacking %s: %w", header.Name, err)
		}
		if header.Typeflag == tar.TypeDir {
			times[name] = header.ModTime
		}
	}
	for name, at := range times { // which the files in them have changed
		if err := root.Chtimes(name, at, at); err != nil {
			return err
		}
	}
	return nil
}

func unpackFile(root *os.Root, name string, header *tar.Header, content io.Reader) error {
	if err := makeWay(root, name, header.Typeflag); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		if err := root.MkdirAll(name, 0o755); err != nil {
			return err
		}
	case tar.TypeReg:
		if err := writeFile(root, name, content); err != nil {
			return err
		}
	case tar.TypeSymlink:
		if err := root.Symlink(header.Linkname, name); err != nil {
			return err
		}
		return root.Lchown(name, header.Uid, header.Gid)
	case tar.TypeLink:
		return root.Link(filepath.Clean(strings.TrimLeft(header.Linkname, "/")), name)
	default:
		if err := makeNode(root, name, header); err != nil {
			return err
		}
	}
	return setProperties(root, name, header)
}

// makeWay makes the directory of a file, and removes what is in its place, unless both are directories.
func makeWay(root *os.Root, name string, kind byte) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	info, err := root.Lstat(name)
	if err != nil || info.IsDir() && kind == tar.TypeDir {
		return nil
	}
	return root.RemoveAll(name)
}

func writeFile(root *os.Root, name string, content io.Reader) error {
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// makeNode makes a device or a pipe.
func makeNode(root *os.Root, name string, header *tar.Header) error {
	kinds := map[byte]uint32{tar.TypeBlock: unix.S_IFBLK, tar.TypeChar: unix.S_IFCHR, tar.TypeFifo: unix.S_IFIFO}
	kind, known := kinds[header.Typeflag]
	if !known {
		return fmt.Errorf("unknown type %q", header.Typeflag)
	}
	dir, err := root.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	return unix.Mknodat(int(dir.Fd()), filepath.Base(name), kind|0o600, int(unix.Mkdev(uint32(header.Devmajor), uint32(header.Devminor))))
}

// setProperties sets the mode last: writing to a file, and a change of its owner, clear its set-user-ID bit.
func setProperties(root *os.Root, name string, header *tar.Header) error {
	if err := root.Lchown(name, header.Uid, header.Gid); err != nil {
		return err
	}
	for record, value := range header.PAXRecords {
		attribute, isXattr := strings.CutPrefix(record, xattrPrefix)
		if !isXattr {
			continue
		}
		if err := unix.Lsetxattr(filepath.Join(root.Name(), name), attribute, []byte(value), 0); err != nil && !errors.Is(err, unix.ENOTSUP) {
			return err
		}
	}
	if err := root.Chmod(name, header.FileInfo().Mode()); err != nil {
		return err
	}
	return root.Chtimes(name, header.ModTime, header.ModTime)
}
