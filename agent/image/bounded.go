// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxManifest is the largest manifest that is accepted, in bytes: the size that the OCI distribution specification asks registries to
// support. The registry library would keep up to 100 MiB in memory.
const maxManifest = 4 << 20

var errTooLarge = fmt.Errorf("it sent a manifest of more than %d MiB", maxManifest>>20)

// bounded rejects manifests and indexes that are too large. Blobs are streamed, and their size is in the manifest.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(request)
	if err == nil && isManifest(request.URL.Path) {
		response.Body = &boundedBody{ReadCloser: response.Body, left: maxManifest}
	}
	return response, err
}

func isManifest(path string) bool {
	return strings.Contains(path, "/manifests/") || strings.Contains(path, "/referrers/")
}

type boundedBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *boundedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if b.left -= n; b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
