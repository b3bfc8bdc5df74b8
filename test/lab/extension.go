// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"path/filepath"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
)

// ExtensionClient is the name in the client certificates by which our manager knows those of Cluster API.
const ExtensionClient = "elemental-runtime-extension-client"

// Hooks is the address, host and port, of the runtime extension on the first replica.
func (l *Lab) Hooks() string { return onLoopback(l.ports[0].hooks) }

// ExtensionCertDir is where our manager looks for the certificate of the Service of its hooks. Where something else installs
// the providers it does not exist, until somebody puts there what a kubelet would.
func (l *Lab) ExtensionCertDir() string { return filepath.Join(l.env.Dir, "extension-tls") }

// extensionClientDir has the client certificate of Cluster API's managers and its authority, which is that of the cluster.
func (l *Lab) extensionClientDir() string { return filepath.Join(l.env.Dir, "extension-client-tls") }

// writeExtensionCertificates writes what is mounted for hooks into both sides.
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

// extensionArgs have our manager serve hooks to those alone who have a client certificate.
func (l *Lab) extensionArgs(port int) []string {
	return []string{
		fmt.Sprintf("--runtime-extension-port=%d", port), "--extension-cert-dir=" + l.ExtensionCertDir(),
		"--runtime-extension-client-ca-file=" + filepath.Join(l.extensionClientDir(), "ca.crt"),
		"--runtime-extension-client-names=" + ExtensionClient,
	}
}

// clientArgs have a manager of Cluster API show it.
func (l *Lab) clientArgs() []string {
	return []string{
		"--runtime-extension-client-cert-file=" + filepath.Join(l.extensionClientDir(), "tls.crt"),
		"--runtime-extension-client-key-file=" + filepath.Join(l.extensionClientDir(), "tls.key"),
	}
}
