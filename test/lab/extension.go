// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"path/filepath"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
)

// ExtensionClient is the common name in the client certificates by which our manager recognizes Cluster API's managers.
const ExtensionClient = "elemental-runtime-extension-client"

// Hooks is the address (host:port) of the runtime extension of the first replica.
func (l *Lab) Hooks() string { return onLoopback(l.ports[0].hooks) }

// ExtensionCertDir is where our manager reads the certificate of the Service of its hooks. Where something else
// installs the providers it does not exist until the test writes there what a kubelet would mount.
func (l *Lab) ExtensionCertDir() string { return filepath.Join(l.env.Dir, "extension-tls") }

// extensionClientDir holds the client certificate of Cluster API's managers and the CA that signed it, which is the
// cluster's.
func (l *Lab) extensionClientDir() string { return filepath.Join(l.env.Dir, "extension-client-tls") }

// writeExtensionCertificates writes the certificates that a kubelet would mount for both sides of the hooks.
func (l *Lab) writeExtensionCertificates() error {
	authority := l.Management.Authority()
	client, err := authority.Client(ExtensionClient)
	if err != nil {
		return err
	}
	if err := authority.WriteServing(l.extensionClientDir(), client); err != nil {
		return err
	}
	if l.options.Install != nil {
		return nil
	}
	server, err := authority.Server("runtime-extension")
	if err != nil {
		return err
	}
	return pki.WriteFiles(l.ExtensionCertDir(), map[string][]byte{"tls.crt": server.CertPEM, "tls.key": server.KeyPEM})
}

// extensionArgs make our manager serve hooks only to clients that present a client certificate.
func (l *Lab) extensionArgs(port int) []string {
	return []string{
		fmt.Sprintf("--runtime-extension-port=%d", port), "--extension-cert-dir=" + l.ExtensionCertDir(),
		"--runtime-extension-client-ca-file=" + filepath.Join(l.extensionClientDir(), "ca.crt"),
		"--runtime-extension-client-names=" + ExtensionClient,
	}
}

// clientArgs make a manager of Cluster API present that client certificate.
func (l *Lab) clientArgs() []string {
	return []string{
		"--runtime-extension-client-cert-file=" + filepath.Join(l.extensionClientDir(), "tls.crt"),
		"--runtime-extension-client-key-file=" + filepath.Join(l.extensionClientDir(), "tls.key"),
	}
}
