// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Relay serves a resolved image on the loopback interface, as Serve does, without storing it: each blob is fetched on request, over verified
// TLS and by digest. Live media and recovery systems have no disk to store an image on. A blob whose content does not match its digest is
// never sent completely.
func (s *Store) Relay(ctx context.Context, wanted Image) (reference string, stop func(), err error) {
	remoteImage, _, err := s.resolve(ctx, wanted.URI, wanted.Digest)
	if err != nil {
		return "", nil, err
	}
	manifest, err := remoteImage.RawManifest()
	if err != nil {
		return "", nil, err
	}
	mediaType, err := remoteImage.MediaType()
	if err != nil {
		return "", nil, err
	}
	sendManifest := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(manifest) }
	sendBlob := func(w http.ResponseWriter, r *http.Request, name string) { relayBlob(w, r, remoteImage, name) }
	return listen(routes(wanted.Digest, string(mediaType), sendManifest, sendBlob), wanted.Digest)
}

// relayBlob closes the connection if the transfer from the registry fails.
func relayBlob(w http.ResponseWriter, r *http.Request, of v1.Image, digest string) {
	name, err := v1.NewHash(digest)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	blob, err := of.LayerByDigest(name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	size, err := blob.Size()
	if err != nil {
		http.Error(w, "the registry does not answer", http.StatusBadGateway)
		return
	}
	content, err := blob.Compressed()
	if err != nil {
		http.Error(w, "the registry does not answer", http.StatusBadGateway)
		return
	}
	defer content.Close()
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	if r.Method == http.MethodHead {
		return
	}
	if err := copyKnown(w, content); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// copyKnown withholds the last part that was read until the reader has verified, at its end, the digest of the whole.
func copyKnown(into io.Writer, from io.Reader) error {
	held, next := make([]byte, 0, copyBuffer), make([]byte, copyBuffer)
	for {
		n, err := from.Read(next)
		if n > 0 {
			if _, err := into.Write(held); err != nil {
				return fmt.Errorf("sending a blob: %w", err)
			}
			held = append(held[:0], next[:n]...)
		}
		if errors.Is(err, io.EOF) {
			_, err := into.Write(held)
			return err
		}
		if err != nil {
			return err
		}
	}
}
