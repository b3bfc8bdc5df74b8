// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imageuri"
)

// repository is the name under which an image is served.
const repository = "elemental/os"

// Serve serves a downloaded image on the loopback interface, read-only, until stop is called. The returned reference has no scheme and names
// the image by its digest.
// Source of the routes: OCI distribution specification, "Pulling".
func (s *Store) Serve(digest string) (reference string, stop func(), err error) {
	if !s.complete(digest) {
		return "", nil, fmt.Errorf("serving image %s: it has not been downloaded", digest)
	}
	mediaType, err := s.mediaType(digest)
	if err != nil {
		return "", nil, err
	}
	send := func(w http.ResponseWriter, r *http.Request, name string) { s.sendBlob(w, r, digest, name) }
	manifest := func(w http.ResponseWriter, r *http.Request) { send(w, r, digest) }
	return listen(routes(digest, mediaType, manifest, send), digest)
}

func listen(handler http.Handler, digest string) (reference string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("serving image %s: %w", digest, err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	go func() { _ = server.Serve(listener) }() // ends with ErrServerClosed
	stop = func() { _ = server.Close() }
	return fmt.Sprintf("%s/%s@%s", listener.Addr(), repository, digest), stop, nil
}

// routes of a registry with one image, given functions that send its manifest and its blobs.
func routes(digest, mediaType string, manifest http.HandlerFunc, blob func(w http.ResponseWriter, r *http.Request, name string)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v2/"+repository+"/manifests/{name}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("name") != digest {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Docker-Content-Digest", digest)
		manifest(w, r)
	})
	mux.HandleFunc("GET /v2/"+repository+"/blobs/{name}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		if !imageuri.IsDigest(name) {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Docker-Content-Digest", name)
		blob(w, r, name)
	})
	return mux
}

func (s *Store) sendBlob(w http.ResponseWriter, r *http.Request, digest, name string) {
	blob, err := os.Open(s.blob(digest, strings.TrimPrefix(name, hashPrefix)))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer blob.Close()
	http.ServeContent(w, r, "", time.Time{}, blob)
}

func (s *Store) mediaType(digest string) (string, error) {
	content, err := os.ReadFile(s.index(digest))
	if err != nil {
		return "", fmt.Errorf("reading the image cache: %w", err)
	}
	index := v1.IndexManifest{}
	if err := json.Unmarshal(content, &index); err != nil || len(index.Manifests) != 1 {
		return "", errors.Join(fmt.Errorf("reading the image cache: index of %s is damaged", digest), err)
	}
	return string(index.Manifests[0].MediaType), nil
}
