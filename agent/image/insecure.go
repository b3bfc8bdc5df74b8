// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"crypto/tls"
	"errors"
	"net/http"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imageuri"
)

var errPlainHTTP = errors.New("refusing to speak plain HTTP")

// isInsecure reports whether the operator allows a repository without verified TLS.
func (s *Store) isInsecure(repository name.Repository) bool {
	return slices.ContainsFunc(s.insecure, func(written string) bool {
		prefix, err := imageuri.ParsePrefix(written)
		return err == nil && imageuri.Begins(repository.Name(), prefix)
	})
}

// transport returns the transport for requests about one repository.
func (s *Store) transport(of name.Repository) http.RoundTripper {
	var chosen http.RoundTripper = tlsOnly{s.verified}
	if s.isInsecure(of) {
		chosen = exceptFor{registry: of.RegistryStr(), unverified: s.unverified, others: chosen}
	}
	return asking{RoundTripper: bounded{paced{RoundTripper: chosen, clock: s.clock}}, clock: s.clock}
}

// exceptFor sends requests to one registry without verification. Redirects to other hosts are verified.
type exceptFor struct {
	registry   string
	unverified http.RoundTripper
	others     http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (e exceptFor) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host == e.registry {
		return e.unverified.RoundTrip(request)
	}
	return e.others.RoundTrip(request)
}

// tlsOnly refuses plain HTTP: the registry library falls back to it for private addresses.
type tlsOnly struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t tlsOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != "https" {
		return nil, errPlainHTTP
	}
	return t.RoundTripper.RoundTrip(request)
}

// withoutVerification returns a transport that accepts any certificate. A transport that is not an *http.Transport is returned unchanged.
func withoutVerification(verified http.RoundTripper) http.RoundTripper {
	known, is := verified.(*http.Transport)
	if !is {
		return verified
	}
	unverified := known.Clone()
	if unverified.TLSClientConfig == nil {
		unverified.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	unverified.TLSClientConfig.InsecureSkipVerify = true // for registries that the operator has listed
	return unverified
}
