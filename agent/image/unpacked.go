// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
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
// files, in bytes. Of a directory that a layer removes, the files that a layer below had are counted all the same.
func (s *Store) Unpacked(ctx context.Context, digest string) (int64, error) {
	name, err := v1.NewHash(digest)
	if err != nil {
		return 0, err
	}
	stored, err := layout.Path(s.layout(digest)).Image(name)
	if err != nil {
		return 0, fmt.Errorf("reading the image cache: %w", err)
	}
	layers, err := stored.Layers()
	if err != nil {
		return 0, fmt.Errorf("reading the image cache: %w", err)
	}
	files := map[uint64]int64{}
	for _, layer := range layers {
		if err := count(ctx, layer, files); err != nil {
			return 0, fmt.Errorf("reading the image cache: %w", err)
		}
	}
	total := int64(0)
	for _, bytes := range files {
		total += bytes
	}
	return total, nil
}

// count puts into files, by the hash of their names, what the files of a layer take.
func count(ctx context.Context, layer v1.Layer, files map[uint64]int64) error {
	content, err := layer.Uncompressed()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Clean("/" + header.Name)
		if removed, found := strings.CutPrefix(path.Base(name), whiteout); found {
			delete(files, hashOf(path.Join(path.Dir(name), removed)))
			continue
		}
		files[hashOf(name)] = onDisk(header)
	}
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

func hashOf(name string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name))
	return hash.Sum64()
}
