// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package extensionserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
)

// callers verifies those who may call hooks.
type callers struct {
	authorities reloaded[x509.CertPool]
	names       []string
}

func newCallers(bundle string, names []string) *callers {
	return &callers{names: names, authorities: reloaded[x509.CertPool]{
		what: "the authorities of client certificates", file: bundle,
		read: func() (*x509.CertPool, error) {
			content, err := os.ReadFile(bundle)
			if err != nil {
				return nil, fmt.Errorf("reading the authorities of client certificates: %w", err)
			}
			pool := x509.NewCertPool()
			if !pool.AppendCertsFromPEM(content) {
				return nil, fmt.Errorf("reading the authorities of client certificates: %s has no PEM-encoded certificate", bundle)
			}
			return pool, nil
		},
	}}
}

// verify fails unless the caller presents a client certificate of one of the present authorities, with one of the allowed names.
func (c *callers) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the caller of a hook presents no client certificate")
	}
	leaf := state.PeerCertificates[0]
	authorities := c.authorities.current()
	if authorities == nil {
		return fmt.Errorf("no caller of a hook can be verified: put the authority of Cluster API's client certificates into %s", c.authorities.file)
	}
	intermediates := x509.NewCertPool()
	for _, link := range state.PeerCertificates[1:] {
		intermediates.AddCert(link)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: authorities, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return fmt.Errorf("verifying the client certificate of %q, who calls a hook: %w", leaf.Subject, err)
	}
	if !slices.ContainsFunc(namesOf(leaf), func(name string) bool { return slices.Contains(c.names, name) }) {
		return fmt.Errorf("the client certificate of a hook's caller is for %q: none of the names in --runtime-extension-client-names", namesOf(leaf))
	}
	return nil
}

// namesOf returns the common name, DNS names and URIs of a certificate. They are compared literally, without wildcards.
func namesOf(leaf *x509.Certificate) []string {
	names := []string{}
	if leaf.Subject.CommonName != "" {
		names = append(names, leaf.Subject.CommonName)
	}
	names = append(names, leaf.DNSNames...)
	for _, uri := range leaf.URIs {
		names = append(names, uri.String())
	}
	return names
}

type verifiedKey struct{}

// WithVerifiedCaller marks the context of a request whose caller was verified.
func WithVerifiedCaller(ctx context.Context) context.Context {
	return context.WithValue(ctx, verifiedKey{}, true)
}

// IsCallerVerified reports whether the caller of a hook presented a client certificate that the manager trusts. If no authority is
// configured, no caller is verified.
func IsCallerVerified(ctx context.Context) bool { return ctx.Value(verifiedKey{}) != nil }
