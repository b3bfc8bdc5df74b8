// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"crypto/tls"
	"encoding/pem"
	"net/http"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// CACert is the server's certificate.
func (a *API) CACert() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.server.Certificate().Raw}))
}

// HandOut publishes these authorities, PEM-encoded.
func (a *API) HandOut(authorities string) { a.update(func() { a.authorities = authorities }) }

func (a *API) knownBy(w http.ResponseWriter, _ *http.Request, _ string) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.authorities == "" {
		refuse(w, http.StatusNotFound, "the API has no certificate authority of its own")
		return
	}
	answer(w, wire.Authorities{CACert: a.authorities})
}

// Present uses this certificate for new connections.
func (a *API) Present(certificate tls.Certificate) {
	a.update(func() { a.presented = &certificate })
	a.Drop()
}

// Resume allows the resumption of sessions with a former certificate, as the manager does.
func (a *API) Resume() { a.update(func() { a.resumes = true }) }

// configFor returns the configuration for a connection. Clients connect by address and send no server name, so it cannot select the
// certificate.
func (a *API) configFor(*tls.ClientHelloInfo) (*tls.Config, error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.presented == nil {
		return nil, nil
	}
	// A resumed session would not show the new certificate.
	return &tls.Config{MinVersion: tls.VersionTLS12, SessionTicketsDisabled: !a.resumes, Certificates: []tls.Certificate{*a.presented}}, nil
}
