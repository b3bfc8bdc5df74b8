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
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/renameio/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/tree"
)

const (
	// blockBytes is the size of a block of the file systems that an image is unpacked to.
	blockBytes = 4096
	// inodeBytes is the size of an inode.
	inodeBytes = 256
	// whiteout is the name prefix of an entry that removes a file of a lower layer.
	whiteout = ".wh."
)

// Unpacked returns how much space a downloaded image takes once it is unpacked: the blocks and the inodes of its files, in bytes. If a layer
// removes a directory, files in it from lower layers are still counted.
func (s *Store) Unpacked(ctx context.Context, digest string) (int64, error) {
	files, err := s.listed(ctx, digest)
	if errors.Is(err, syscall.ENOSPC) {
		err = nil // the size is known, although the list could not be stored
	}
	return files.Unpacked, err
}

// FileList returns the path of the list of the files of a downloaded image, for tree.ReadDownloaded.
func (s *Store) FileList(ctx context.Context, digest string) (string, error) {
	_, err := s.listed(ctx, digest)
	return s.fileList(digest), err
}

func (s *Store) fileList(digest string) string { return filepath.Join(s.layout(digest), "files.json") }

// listed reads the list of an image's files, and creates it if it is missing or damaged. It returns the list even if it could not be stored.
func (s *Store) listed(ctx context.Context, digest string) (tree.Downloaded, error) {
	if listed, err := tree.ReadDownloaded(s.fileList(digest)); err == nil {
		return listed, nil
	}
	unpacked, err := s.unpack(ctx, digest)
	if err != nil {
		return tree.Downloaded{}, err
	}
	files := unpacked.downloaded()
	if err := s.list(digest, files); err != nil {
		return files, fmt.Errorf("writing to the image cache: %w", system.Unnamed(err))
	}
	return files, nil
}

func (s *Store) list(digest string, files tree.Downloaded) error {
	list, err := renameio.NewPendingFile(s.fileList(digest), renameio.WithPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { _ = list.Cleanup() }()
	if err := files.Write(list); err != nil {
		return err
	}
	return list.CloseAtomicallyReplace()
}

func (s *Store) unpack(ctx context.Context, digest string) (*unpacked, error) {
	layers, err := s.layers(digest)
	if err != nil {
		return nil, fmt.Errorf("reading the image cache: %w", err)
	}
	files := &unpacked{files: map[uint64]file{}, links: map[uint64]bool{}, unsure: map[uint64]bool{}}
	for _, layer := range layers {
		files.layer++
		if err := files.addLayer(ctx, layer); err != nil {
			return nil, s.explainLayer(ctx, digest, layer, err)
		}
	}
	return files, nil
}

func (s *Store) layers(digest string) ([]v1.Layer, error) {
	name, err := v1.NewHash(digest)
	if err != nil {
		return nil, err
	}
	stored, err := layout.Path(s.layout(digest)).Image(name)
	if err != nil {
		return nil, err
	}
	return stored.Layers()
}

// explainLayer tells a layer that was pushed so, which is final, from one that was damaged in the cache, which is removed to be downloaded again.
func (s *Store) explainLayer(ctx context.Context, digest string, layer v1.Layer, cause error) error {
	name, err := layer.Digest()
	if err != nil || ctx.Err() != nil {
		return errors.Join(ctx.Err(), err, cause)
	}
	stored, err := os.Open(s.blob(digest, name.Hex))
	if err != nil {
		return fmt.Errorf("reading the image cache: %w", err)
	}
	defer func() { _ = stored.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, stored); err != nil {
		return fmt.Errorf("reading the image cache: %w", err)
	}
	if hexOf(sum) == name.Hex {
		return terminalf("layer %s of image %s cannot be unpacked, it is not a tar archive that is whole (%s): build the image again", name, digest, quoted(cause.Error()))
	}
	if err := errors.Join(os.Remove(s.index(digest)), os.Remove(stored.Name())); err != nil {
		return fmt.Errorf("removing a damaged layer from the image cache: %w", err)
	}
	return fmt.Errorf("reading the image cache: layer %s is damaged, and is downloaded again: %w", name, cause)
}

// unpacked is the result of unpacking each layer over those below. Paths are stored as their tree.NameOf.
type unpacked struct {
	files map[uint64]file
	// links are the symbolic links.
	links map[uint64]bool
	// unsure are the base names of files whose content depends on the order of unpacking: those reached through a symbolic link, those that
	// a layer has twice, and those with an absolute path.
	// Source: go-containerregistry, mutate.Extract, with which the CLI unpacks: upper layers come first.
	unsure map[uint64]bool
	// layer that is being added, counted from 1.
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
			return verifyDiffID(layer, all, read)
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

// verifyDiffID reads the rest of a layer and compares its DiffID: if a file was misread, its hash would make every snapshot of the image
// appear corrupt.
func verifyDiffID(layer v1.Layer, rest io.Reader, read hash.Hash) error {
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

// downloaded leaves out the files whose base name is in unsure.
func (u *unpacked) downloaded() tree.Downloaded {
	all := tree.Downloaded{Files: map[uint64]tree.FileSum{}}
	for name, each := range u.files {
		all.Unpacked += each.bytes
		if each.sum != nil && !u.unsure[each.base] {
			all.Files[name] = tree.FileSum{Name: name, Size: each.size, Time: each.time, Sum: fmt.Sprintf("%x", *each.sum)}
		}
	}
	return all
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
