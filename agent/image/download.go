// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// copyBuffer is the memory that writing a layer takes, whatever its size, in bytes.
const copyBuffer = 128 << 10

// Download completes a resolved image in the store, with every blob verified and flushed. Existing blobs are not fetched again.
func (s *Store) Download(ctx context.Context, wanted Image) error {
	if s.complete(wanted.Digest) {
		return nil
	}
	ctx = withAsks(ctx)
	remoteImage, _, err := s.resolve(ctx, wanted.URI, wanted.Digest)
	if err != nil {
		return err
	}
	reference, err := s.parse(wanted.URI, wanted.Digest)
	if err != nil {
		return err
	}
	return explain(ctx, reference, s.write(ctx, remoteImage, wanted.Digest))
}

func (s *Store) write(ctx context.Context, remoteImage v1.Image, digest string) error {
	layers, err := remoteImage.Layers()
	if err != nil {
		return err
	}
	for _, layer := range layers {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.writeLayer(digest, layer); err != nil {
			return err
		}
	}
	configuration, err := remoteImage.RawConfigFile()
	if err != nil {
		return err
	}
	name, err := remoteImage.ConfigName()
	if err != nil {
		return err
	}
	if err := s.writeBlob(digest, name, strings.NewReader(string(configuration))); err != nil {
		return err
	}
	return s.finish(remoteImage, digest)
}

func (s *Store) writeLayer(digest string, layer v1.Layer) error {
	name, err := layer.Digest()
	if err != nil {
		return err
	}
	if _, err := os.Stat(s.blob(digest, name.Hex)); err == nil {
		return nil
	}
	content, err := layer.Compressed()
	if err != nil {
		return &blobError{name.String(), err}
	}
	defer content.Close()
	if err := s.writeBlob(digest, name, content); err != nil {
		return &blobError{name.String(), err}
	}
	return nil
}

// writeBlob stores content after verifying its digest.
func (s *Store) writeBlob(digest string, name v1.Hash, content io.Reader) (err error) {
	path := s.blob(digest, name.Hex)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("creating the image cache: %w", err)
	}
	partial, err := os.Create(path + ".partial")
	if err != nil {
		return fmt.Errorf("creating the image cache: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(partial.Name())) }()
	if err := copyVerified(partial, content, name); err != nil {
		return errors.Join(err, partial.Close())
	}
	if err := errors.Join(partial.Sync(), partial.Close()); err != nil {
		return fmt.Errorf("writing to the image cache: %w", err)
	}
	return os.Rename(partial.Name(), path)
}

func copyVerified(target io.Writer, content io.Reader, name v1.Hash) error {
	sum := sha256.New()
	if _, err := io.CopyBuffer(io.MultiWriter(target, sum), onlyReader{content}, make([]byte, copyBuffer)); err != nil {
		return fmt.Errorf("downloading blob %s: %w", name, err)
	}
	if got := hexOf(sum); got != name.Hex {
		return fmt.Errorf("downloading blob %s: its content has digest sha256:%s", name, got)
	}
	return nil
}

// onlyReader hides WriteTo and ReadFrom, which would allocate their own buffers.
type onlyReader struct{ io.Reader }

func hexOf(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }

// finish writes the manifest and, last, the index: a layout with an index is complete.
func (s *Store) finish(remoteImage v1.Image, digest string) error {
	manifest, err := remoteImage.RawManifest()
	if err != nil {
		return err
	}
	name, err := v1.NewHash(digest)
	if err != nil {
		return err
	}
	if err := s.writeBlob(digest, name, strings.NewReader(string(manifest))); err != nil {
		return err
	}
	mediaType, err := remoteImage.MediaType()
	if err != nil {
		return err
	}
	index, err := json.Marshal(v1.IndexManifest{
		SchemaVersion: 2,
		MediaType:     types.OCIImageIndex,
		Manifests:     []v1.Descriptor{{MediaType: mediaType, Size: int64(len(manifest)), Digest: name}},
	})
	if err != nil {
		return err
	}
	layout := []byte(`{"imageLayoutVersion":"1.0.0"}`)
	if err := system.WriteFile(filepath.Join(s.layout(digest), "oci-layout"), layout, 0o600); err != nil {
		return err
	}
	return system.WriteFile(s.index(digest), index, 0o600)
}

func (s *Store) complete(digest string) bool {
	_, err := os.Stat(s.index(digest))
	return err == nil
}

func (s *Store) layout(digest string) string {
	return filepath.Join(s.directory, strings.TrimPrefix(digest, hashPrefix))
}

func (s *Store) index(digest string) string { return filepath.Join(s.layout(digest), "index.json") }

func (s *Store) blob(digest, hex string) string {
	return filepath.Join(s.layout(digest), "blobs", "sha256", hex)
}
