// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package dummy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// imageBytes is the size of every dummy image.
const imageBytes = 1 << 20

// Images are OS images that need no registry.
type Images struct{}

// Digest of a dummy image.
func Digest(uri string) string {
	sum := sha256.Sum256([]byte(uri))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Resolve resolves every URI, except one that contains "missing".
func (Images) Resolve(_ context.Context, uri, digest string) (image.Image, error) {
	if uri == "" || strings.Contains(uri, "missing") {
		return image.Image{}, &image.Terminal{Message: "image " + uri + " does not exist: check osVersion.imageURI"}
	}
	if digest == "" {
		digest = Digest(uri)
	}
	return image.Image{URI: uri, Digest: digest, Bytes: imageBytes}, nil
}

// Verify fails if a signature is required: dummy images have none.
func (Images) Verify(_ context.Context, wanted image.Image, by *wire.ImageVerification) error {
	if by == nil {
		return nil
	}
	return &image.Terminal{Message: "image " + wanted.URI + " has no signature: images of the dummy plugin have none, remove imageVerification"}
}

// Download does nothing.
func (Images) Download(context.Context, image.Image) error { return nil }

// Downloaded returns the full size.
func (Images) Downloaded(string) int64 { return imageBytes }

// Unpacked returns the same size.
func (Images) Unpacked(context.Context, string) (int64, error) { return imageBytes, nil }

// FileList returns no path, since there are no files.
func (Images) FileList(context.Context, string) (string, error) { return "", nil }

// Serve returns the reference of the image.
func (Images) Serve(digest string) (string, func(), error) {
	return "dummy/os@" + digest, func() {}, nil
}

// Relay returns the reference of the image.
func (i Images) Relay(_ context.Context, wanted image.Image) (string, func(), error) {
	return i.Serve(wanted.Digest)
}

// Drop does nothing.
func (Images) Drop(...string) error { return nil }

func digestOf(reference string) string {
	_, digest, _ := strings.Cut(reference, "@")
	return digest
}
