// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package extensionserver

import (
	"crypto/tls"
	"fmt"
	"path/filepath"
)

// certificate of the runtime extension's Service. It is created with the components of the runtime extension, which are installed after the
// manager.
type certificate struct{ reloaded[tls.Certificate] }

func newCertificate(dir string) *certificate {
	file, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	return &certificate{reloaded[tls.Certificate]{
		what: "the certificate of the runtime extension", file: file,
		read: func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(file, key)
			if err != nil {
				return nil, fmt.Errorf("loading %s and %s: %w", file, key, err)
			}
			return &pair, nil
		},
	}}
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	pair := c.current()
	if pair == nil {
		return nil, fmt.Errorf("there is no %s: are the components of the runtime extension installed?", c.file)
	}
	return pair, nil
}
