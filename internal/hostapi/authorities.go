// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// Authorities returns the certificate authorities that hosts have to trust, PEM-encoded, from ca.crt in the directory of the API's
// certificate. The file is read each time, since it changes while the manager runs. Empty: hosts trust their system's.
func Authorities(certDir string) (string, error) {
	path := filepath.Join(certDir, authorityFile)
	bundle, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading the CA that hosts are to trust; put it beside tls.crt: %w", err)
	}
	if len(bundle) > 0 && !x509.NewCertPool().AppendCertsFromPEM(bundle) {
		return "", fmt.Errorf("reading the CA that hosts are to trust: %s holds no PEM-encoded certificate", path)
	}
	return string(bundle), nil
}

// getAuthorities answers from the manager's own file, so that a change of an ElementalRegistration does not change what existing hosts
// trust.
func (s *Server) getAuthorities(r *http.Request) (reply, error) {
	if _, err := s.authenticate(r); err != nil {
		return reply{}, err
	}
	bundle, err := Authorities(s.options.CertDir)
	if errors.Is(err, os.ErrNotExist) || (err == nil && bundle == "") {
		return reply{}, refuse(http.StatusNotFound, "the API has no certificate authority of its own")
	}
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusOK, body: wire.Authorities{CACert: bundle}}, nil
}
