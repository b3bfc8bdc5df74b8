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

// HandOut has hosts know the API by these authorities from now on, PEM-encoded.
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

// Present has connections from now on made with this certificate.
func (a *API) Present(certificate tls.Certificate) {
	a.update(func() { a.presented = &certificate })
	a.Drop()
}

// Resume has sessions go on that were begun with the certificate before, as the manager's do.
func (a *API) Resume() { a.update(func() { a.resumes = true }) }

// configFor a connection: whoever is reached by an address asks for no name, by which another certificate could be chosen.
func (a *API) configFor(*tls.ClientHelloInfo) (*tls.Config, error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.presented == nil {
		return nil, nil
	}
	// A session that was begun with the former certificate goes on without looking at this one.
	return &tls.Config{MinVersion: tls.VersionTLS12, SessionTicketsDisabled: !a.resumes, Certificates: []tls.Certificate{*a.presented}}, nil
}
