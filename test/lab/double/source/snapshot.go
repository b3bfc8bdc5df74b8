// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// endMark is the last entry of a snapshot's image: an image without it is truncated.
const endMark = ".end-of-image"

// OSRelease is the file of a root tree that identifies the OS.
const OSRelease = "etc/os-release"

// ErrCorrupt means that a snapshot's image has lost some of its content.
var ErrCorrupt = errors.New("image is corrupt")

// Image is what a host needs to know of a snapshot to boot it.
type Image struct {
	Labels    map[string]string
	OSRelease []byte
}

// Pack creates a snapshot's image, an archive of the tree, with at most limit bytes of it. What does not fit is lost
// without an error: on a full state partition the real CLI leaves such an image, of full size, and exits 0 (Harvester
// issues 7457 and 10687).
func Pack(dir, path string, limit int64) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("packing %s: %w", path, err)
	}
	content := &limited{w: f, left: limit}
	tw := tar.NewWriter(content)
	err = filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		return addFile(tw, p, rel)
	})
	if err == nil {
		err = tw.WriteHeader(&tar.Header{Name: endMark, Mode: 0o444})
	}
	return errors.Join(err, tw.Close(), f.Truncate(content.size), f.Close())
}

// limited discards what exceeds its limit.
type limited struct {
	w io.Writer
	// left is how much can still be written of the total size.
	left, size int64
}

func (l *limited) Write(p []byte) (int, error) {
	keep := p[:min(int64(len(p)), l.left)]
	l.left -= int64(len(keep))
	l.size += int64(len(p))
	if _, err := l.w.Write(keep); err != nil {
		return 0, err
	}
	return len(p), nil
}

func addFile(tw *tar.Writer, path, name string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(packFile(tw, f, name), f.Close())
}

func packFile(tw *tar.Writer, f *os.File, name string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h, err := tar.FileInfoHeader(info, "")
	if err != nil {
		return err
	}
	h.Name = name
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(tw, f)
	return err
}

// Unpack is the inverse of Pack.
func Unpack(path, dir string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", path, err)
	}
	err = untar(f, dir, func(int64) {})
	return errors.Join(err, f.Close())
}

// Open reads what a host needs of a snapshot's image. It returns ErrCorrupt if the image is truncated.
func Open(path string) (Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return Image{}, fmt.Errorf("opening image: %w", err)
	}
	defer func() { _ = f.Close() }()
	img := Image{Labels: map[string]string{}}
	tr := tar.NewReader(f)
	for {
		h, err := tr.Next()
		if err != nil {
			return Image{}, fmt.Errorf("%s: %w", path, ErrCorrupt)
		}
		if h.Name == endMark {
			return img, nil
		}
		if err := img.take(h.Name, tr); err != nil {
			return Image{}, fmt.Errorf("%s: %w", path, ErrCorrupt)
		}
	}
}

// OpenTree reads what a host needs to boot a root tree.
func OpenTree(dir string) (Image, error) {
	release, err := os.ReadFile(filepath.Join(dir, OSRelease))
	if err != nil {
		return Image{}, fmt.Errorf("opening tree: %w", err)
	}
	return Image{Labels: readLabels(dir), OSRelease: release}, nil
}

func (i *Image) take(name string, r io.Reader) error {
	if name != LabelsFile && name != OSRelease {
		return nil
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if name == OSRelease {
		i.OSRelease = data
		return nil
	}
	return json.Unmarshal(data, &i.Labels)
}

// PrettyName is PRETTY_NAME of the os-release; empty without one.
func (i Image) PrettyName() string {
	for line := range strings.Lines(string(i.OSRelease)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			return strings.Trim(v, `"'`)
		}
	}
	return ""
}
