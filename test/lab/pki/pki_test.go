// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
)

func newAuthority(name string) *pki.Authority {
	GinkgoHelper()
	authority, err := pki.NewAuthority(name)
	Expect(err).NotTo(HaveOccurred())
	return authority
}

func pool(authority *pki.Authority) *x509.CertPool {
	certificates := x509.NewCertPool()
	certificates.AppendCertsFromPEM(authority.CertPEM)
	return certificates
}

func pairOf(pair pki.Pair, err error) tls.Certificate {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	certificate, err := tls.X509KeyPair(pair.CertPEM, pair.KeyPEM)
	Expect(err).NotTo(HaveOccurred())
	return certificate
}

// serve answers with the user and groups in a client's certificate.
func serve(authority *pki.Authority) string {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		_, _ = io.WriteString(w, subject.CommonName+" in "+strings.Join(subject.Organization, ","))
	}))
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{pairOf(authority.Server("api"))},
		ClientCAs:    pool(authority), ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}
	server.StartTLS()
	DeferCleanup(server.Close)
	return server.URL
}

func get(url string, trusted *pki.Authority, client tls.Certificate) (string, error) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: pool(trusted), Certificates: []tls.Certificate{client}, MinVersion: tls.VersionTLS12,
	}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get(url)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

var _ = Describe("An authority", func() {
	It("lets servers and clients on loopback authenticate each other", func() {
		authority := newAuthority("ca")
		Expect(get(serve(authority), authority, pairOf(authority.Client("alice", "system:masters")))).
			To(Equal("alice in system:masters"))
	})

	It("rejects certificates of another authority", func() {
		authority, other := newAuthority("ca"), newAuthority("ca")
		url := serve(authority)
		_, err := get(url, other, pairOf(authority.Client("alice")))
		Expect(err).To(MatchError(ContainSubstring("signed by unknown authority")))
		_, err = get(url, authority, pairOf(other.Client("alice")))
		Expect(err).To(HaveOccurred())
	})

	It("writes what a Kubernetes server expects, for its owner only", func() {
		authority := newAuthority("ca")
		pair, err := authority.Server("webhooks", "webhooks.default.svc")
		Expect(err).NotTo(HaveOccurred())
		dir := filepath.Join(GinkgoT().TempDir(), "tls")
		Expect(authority.WriteServing(dir, pair)).To(Succeed())
		_, err = tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
		Expect(err).NotTo(HaveOccurred())
		Expect(os.ReadFile(filepath.Join(dir, "ca.crt"))).To(Equal(authority.CertPEM))
		key, err := os.Stat(filepath.Join(dir, "tls.key"))
		Expect(err).NotTo(HaveOccurred())
		Expect(key.Mode().Perm()).To(Equal(os.FileMode(0o600)))
	})
})
