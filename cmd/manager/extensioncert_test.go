// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
)

const (
	webhookName   = "elemental-webhook-service.elemental-system.svc"
	extensionName = "elemental-runtime-extension.elemental-system.svc"
)

var _ = Describe("The server of webhooks and hooks", func() {
	var (
		authority *pki.Authority
		dir       string
		config    *tls.Config
	)

	BeforeEach(func() {
		var err error
		authority, err = pki.NewAuthority("test")
		Expect(err).NotTo(HaveOccurred())
		dir = GinkgoT().TempDir()
		pair, err := authority.Server("webhooks", webhookName)
		Expect(err).NotTo(HaveOccurred())
		webhooks, err := tls.X509KeyPair(pair.CertPEM, pair.KeyPEM)
		Expect(err).NotTo(HaveOccurred())
		config = &tls.Config{MinVersion: tls.VersionTLS12}
		(&extensionCertificate{dir: dir}).forItsName(config)
		// As controller-runtime does, after the options.
		config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &webhooks, nil }
	})

	install := func(name string, modified time.Time) {
		GinkgoHelper()
		pair, err := authority.Server(name, extensionName)
		Expect(err).NotTo(HaveOccurred())
		Expect(authority.WriteServing(dir, pair)).To(Succeed())
		Expect(os.Chtimes(filepath.Join(dir, "tls.crt"), modified, modified)).To(Succeed())
	}

	// shown is the common name of the certificate that a caller gets who asks for a name.
	shown := func(serverName string) string {
		GinkgoHelper()
		ours, theirs := net.Pipe()
		server := tls.Server(ours, config)
		client := tls.Client(theirs, &tls.Config{ServerName: serverName, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		served := make(chan error, 1)
		go func() { served <- server.HandshakeContext(ctx) }()
		Expect(client.HandshakeContext(ctx)).To(Succeed())
		Expect(<-served).To(Succeed())
		return client.ConnectionState().PeerCertificates[0].Subject.CommonName
	}

	It("shows the runtime extension's certificate to those who ask for its Service, while there is one", func() {
		Expect(shown(extensionName)).To(Equal("webhooks"), "the runtime extension is not installed yet")
		install("first", time.Unix(1000, 0))
		Expect(shown(extensionName)).To(Equal("first"))
		Expect(shown(webhookName)).To(Equal("webhooks"))
		Expect(shown("127.0.0.1")).To(Equal("webhooks"), "an address is no name")

		install("renewed", time.Unix(2000, 0))
		Expect(shown(extensionName)).To(Equal("renewed"))

		Expect(os.WriteFile(filepath.Join(dir, "tls.crt"), []byte("half"), 0o600)).To(Succeed())
		Expect(shown(extensionName)).To(Equal("renewed"), "a file in the middle of a change is no reason to show nothing")

		Expect(os.Remove(filepath.Join(dir, "tls.crt"))).To(Succeed())
		Expect(shown(extensionName)).To(Equal("webhooks"))
	})
})
