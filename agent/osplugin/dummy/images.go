// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package dummy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
)

// imageBytes is the size of every dummy image.
const imageBytes = 1 << 20

// Images are images that exist without a registry.
type Images struct{}

// Digest of a dummy image.
func Digest(uri string) string {
	sum := sha256.Sum256([]byte(uri))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Resolve knows every image; the one that contains "missing" does not exist.
func (Images) Resolve(_ context.Context, uri, digest string) (image.Image, error) {
	if uri == "" || strings.Contains(uri, "missing") {
		return image.Image{}, &image.Terminal{Message: "image " + uri + " does not exist: check osVersion.imageUri"}
	}
	if digest == "" {
		digest = Digest(uri)
	}
	return image.Image{URI: uri, Digest: digest, Bytes: imageBytes}, nil
}

// Download does nothing.
func (Images) Download(context.Context, image.Image) error { return nil }

// Serve names the image.
func (Images) Serve(digest string) (string, func(), error) {
	return "dummy/os@" + digest, func() {}, nil
}

// Drop does nothing.
func (Images) Drop(...string) error { return nil }

func digestOf(reference string) string {
	_, digest, _ := strings.Cut(reference, "@")
	return digest
}
