// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package tlstest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
)

// Config is the TLS configuration of a client that trusts the servers' CA, with a certificate of any CA, or nil for
// none.
func Config(servers *pki.Authority, pair *pki.Pair) *tls.Config {
	GinkgoHelper()
	roots := x509.NewCertPool()
	Expect(roots.AppendCertsFromPEM(servers.CertPEM)).To(BeTrue())
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if pair != nil {
		shown, err := tls.X509KeyPair(pair.CertPEM, pair.KeyPEM)
		Expect(err).NotTo(HaveOccurred())
		// Ignores which CAs the server accepts.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shown, nil }
	}
	return config
}

// Refusal is the error with which a server rejects a client that has completed its part of the handshake, but not sent
// anything yet: after sending, it might only see that the connection is closed.
func Refusal(ctx context.Context, address string, config *tls.Config) error {
	GinkgoHelper()
	connection, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	Expect(connection.SetReadDeadline(time.Now().Add(time.Minute))).To(Succeed())
	_, err = connection.Read(make([]byte, 1))
	return err
}
