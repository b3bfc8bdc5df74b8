// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/renameio/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/tree"
)

const (
	// blockBytes is the size of a block of the file systems that an image is unpacked to.
	blockBytes = 4096
	// inodeBytes is what they keep of each file.
	inodeBytes = 256
	// whiteout begins the name of an entry that removes a file of a layer below.
	whiteout = ".wh."
)

// Unpacked is how much an image that was downloaded takes on a file system once it is unpacked: the blocks and the inodes of its
// files, in bytes. Of a directory that a layer removes, the files that a layer below had are counted all the same. It lists the files at
// Sums, once: later it reads only that. A disk that has no space for the list costs the list.
func (s *Store) Unpacked(ctx context.Context, digest string) (int64, error) {
	if listed, err := tree.ReadUnpacked(s.Sums(digest)); err == nil {
		return listed, nil
	}
	files, err := s.unpack(ctx, digest)
	if err != nil {
		return 0, fmt.Errorf("reading the image cache: %w", err)
	}
	sums := files.sums()
	if err := s.list(digest, sums); err != nil && !errors.Is(err, syscall.ENOSPC) {
		return 0, fmt.Errorf("writing to the image cache: %w", err)
	}
	return sums.Unpacked, nil
}

func (s *Store) list(digest string, sums tree.Sums) error {
	list, err := renameio.NewPendingFile(s.Sums(digest), renameio.WithPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { _ = list.Cleanup() }()
	if err := sums.Write(list); err != nil {
		return err
	}
	return list.CloseAtomicallyReplace()
}

// Sums is the path of the list of an image's files, which Unpacked makes, for package tree.
func (s *Store) Sums(digest string) string { return filepath.Join(s.layout(digest), "sums.json") }

func (s *Store) unpack(ctx context.Context, digest string) (*unpacked, error) {
	name, err := v1.NewHash(digest)
	if err != nil {
		return nil, err
	}
	stored, err := layout.Path(s.layout(digest)).Image(name)
	if err != nil {
		return nil, err
	}
	layers, err := stored.Layers()
	if err != nil {
		return nil, err
	}
	files := &unpacked{files: map[uint64]file{}, links: map[uint64]bool{}, unsure: map[uint64]bool{}}
	for _, layer := range layers {
		files.layer++
		if err := files.addLayer(ctx, layer); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// unpacked is what layers leave when each is unpacked over those below. Paths are known by tree.NameOf them.
type unpacked struct {
	files map[uint64]file
	// links are the symbolic links.
	links map[uint64]bool
	// unsure are the base names of files of which it depends on the order of unpacking what is at their path: those that go through a
	// symbolic link to another path than their own, those that a layer has twice, and those with an absolute path.
	// Source: go-containerregistry, mutate.Extract, with which the CLI unpacks: upper layers come first.
	unsure map[uint64]bool
	// layer that is added, counted from 1.
	layer int
}

// file is an entry of a layer. Only regular files have a sum.
type file struct {
	bytes      int64
	layer      int
	base       uint64
	size, time int64
	sum        *[sha256.Size]byte
}

func (u *unpacked) addLayer(ctx context.Context, layer v1.Layer) error {
	content, err := layer.Uncompressed()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	read := sha256.New()
	all := io.TeeReader(content, read)
	for archive := tar.NewReader(all); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return isLayer(layer, all, read)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = u.add(header, archive)
		}
		if err != nil {
			return err
		}
	}
}

// isLayer reads the rest of a layer, and says whether all of it was read as it was made: a hash of a file that was misread would have
// every snapshot of the image be corrupt.
func isLayer(layer v1.Layer, rest io.Reader, read hash.Hash) error {
	if _, err := io.Copy(io.Discard, rest); err != nil {
		return err
	}
	made, err := layer.DiffID()
	if err != nil {
		return err
	}
	if got := hexOf(read); got != made.Hex {
		return fmt.Errorf("layer %s was read as sha256:%s", made, got)
	}
	return nil
}

func (u *unpacked) add(header *tar.Header, content io.Reader) error {
	name := path.Clean("/" + header.Name)
	if removed, found := strings.CutPrefix(path.Base(name), whiteout); found {
		delete(u.files, tree.NameOf(path.Join(path.Dir(name), removed)))
		return nil
	}
	added := file{bytes: onDisk(header), layer: u.layer, base: tree.NameOf(path.Base(name))}
	switch header.Typeflag {
	case tar.TypeReg:
		sum := sha256.New()
		if _, err := io.Copy(sum, content); err != nil {
			return err
		}
		added.size, added.time, added.sum = header.Size, header.ModTime.Unix(), (*[sha256.Size]byte)(sum.Sum(nil))
	case tar.TypeSymlink:
		u.links[tree.NameOf(name)] = true
	}
	for parent := path.Dir(name); parent != "/"; parent = path.Dir(parent) {
		if u.links[tree.NameOf(parent)] {
			u.unsure[added.base] = true
		}
	}
	if u.files[tree.NameOf(name)].layer == u.layer || path.IsAbs(header.Name) {
		u.unsure[added.base] = true
	}
	u.files[tree.NameOf(name)] = added
	return nil
}

// sums leaves out files of which it is not sure that nothing of the same name has taken their place.
func (u *unpacked) sums() tree.Sums {
	sums := tree.Sums{Files: map[uint64]tree.FileSum{}}
	for name, each := range u.files {
		sums.Unpacked += each.bytes
		if each.sum != nil && !u.unsure[each.base] {
			sums.Files[name] = tree.FileSum{Name: name, Size: each.size, Time: each.time, Sum: fmt.Sprintf("%x", *each.sum)}
		}
	}
	return sums
}

func onDisk(header *tar.Header) int64 {
	switch header.Typeflag {
	case tar.TypeReg:
		return (header.Size+blockBytes-1)/blockBytes*blockBytes + inodeBytes
	case tar.TypeDir:
		return blockBytes + inodeBytes
	case tar.TypeLink:
		return 0
	default:
		return inodeBytes
	}
}
