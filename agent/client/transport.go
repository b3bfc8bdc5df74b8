// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
)

const (
	dialTimeout = 10 * time.Second
	// keepAlive is long: 30,000 idle hosts cause no other traffic than these probes.
	keepAlive = time.Minute
	// idleTimeout closes the connection that a report opened beside the long poll's, so that an idle host has exactly one.
	idleTimeout = 5 * time.Second
	bufferSize  = 2 << 10
)

// Transport to the API of a registration. Its trusted authorities can be changed while it is in use.
type Transport struct {
	current atomic.Pointer[http.Transport]
}

// NewTransport returns the transport for a registration: TLS 1.3 or 1.2 with the registration's
// certificate authority and, if so configured, those of the system.
func NewTransport(settings config.Config) (*Transport, error) {
	transport := &Transport{}
	return transport, transport.Trust(settings)
}

// Trust replaces the trusted authorities for new requests. Those in flight are not affected.
func (t *Transport) Trust(settings config.Config) error {
	next, err := newTransport(settings)
	if err != nil {
		return err
	}
	if former := t.current.Swap(next); former != nil {
		former.CloseIdleConnections()
	}
	return nil
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	return t.current.Load().RoundTrip(request)
}

// CloseIdleConnections is called by http.Client.
func (t *Transport) CloseIdleConnections() { t.current.Load().CloseIdleConnections() }

// Fresh performs a handshake for each request: a kept connection, or a resumed session, shows the certificate that the API had when it
// began.
func (t *Transport) Fresh() http.RoundTripper {
	fresh := t.current.Load().Clone()
	fresh.TLSClientConfig.ClientSessionCache, fresh.DisableKeepAlives = nil, true
	return fresh
}

func newTransport(settings config.Config) (*http.Transport, error) {
	pool, err := trusted(settings)
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		Proxy:       http.ProxyFromEnvironment,
		DialContext: (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext,
		TLSClientConfig: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			RootCAs:            pool,
			InsecureSkipVerify: settings.Agent.InsecureSkipTLSVerify, //nolint:gosec // asked for by configuration, for labs
			ClientSessionCache: tls.NewLRUClientSessionCache(1),
		},
		TLSHandshakeTimeout:    dialTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConnsPerHost:    2,
		MaxResponseHeaderBytes: 16 << 10,
		WriteBufferSize:        bufferSize,
		ReadBufferSize:         bufferSize,
		// HTTP/1.1 only: a pending HTTP/2 request costs both sides several times the memory.
		ForceAttemptHTTP2: false,
		TLSNextProto:      map[string]func(string, *tls.Conn) http.RoundTripper{},
	}, nil
}

func trusted(settings config.Config) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if settings.Agent.UseSystemCertPool || settings.Registration.CACert == "" {
		system, err := x509.SystemCertPool()
		if err != nil {
			return nil, err
		}
		pool = system
	}
	if settings.Registration.CACert != "" && !pool.AppendCertsFromPEM([]byte(settings.Registration.CACert)) {
		return nil, errors.New("registration.caCert holds no usable PEM certificate")
	}
	return pool, nil
}
