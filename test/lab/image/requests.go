// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Request to the registry.
type Request struct {
	Time       time.Time
	Method     string
	Path       string
	UserAgent  string
	RemoteAddr string
}

// Manifest returns the repository and the tag or digest of a request for a manifest.
func (r Request) Manifest() (repository, reference string, ok bool) {
	path, ok := strings.CutPrefix(r.Path, "/v2/")
	if !ok {
		return "", "", false
	}
	return strings.Cut(path, "/manifests/")
}

// requestLog is the log of requests to a registry.
type requestLog struct {
	mu       sync.Mutex
	requests []Request
	// held is closed when content is served again; nil while it is served.
	held chan struct{}
}

// Hold delays all requests for the content of images until the returned function is called or the client
// gives up.
func (l *requestLog) Hold() (release func()) {
	held := make(chan struct{})
	l.mu.Lock()
	l.held = held
	l.mu.Unlock()
	return sync.OnceFunc(func() {
		l.mu.Lock()
		l.held = nil
		l.mu.Unlock()
		close(held)
	})
}

// await waits while content is held. It reports whether the client still waits for it.
func (l *requestLog) await(r *http.Request) bool {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	if held == nil || r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/") {
		return true
	}
	select {
	case <-held:
		return true
	case <-r.Context().Done():
		return false
	}
}

func (l *requestLog) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.requests = append(l.requests, Request{
			Time:       time.Now(),
			Method:     r.Method,
			Path:       r.URL.Path,
			UserAgent:  r.UserAgent(),
			RemoteAddr: r.RemoteAddr,
		})
		l.mu.Unlock()
		if l.await(r) {
			next.ServeHTTP(w, r)
		}
	})
}

// Requests are all requests so far, pushes included.
func (l *requestLog) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests)
}

// Asked are the requests for the manifest of an image by its tag or one of its digests: the first
// request of any client that resolves or pulls it. The user agent identifies the client; hosts include
// their names in it.
func (l *requestLog) Asked(img Image) []Request {
	return slices.DeleteFunc(l.Requests(), func(r Request) bool {
		repository, reference, ok := r.Manifest()
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		named := reference == img.Tag || reference == img.Digest || reference == img.PlatformDigest
		return !ok || !reads || repository != img.Repository || !named
	})
}
