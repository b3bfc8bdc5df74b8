// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// sources is the number of source addresses of hosts. One address has less than 30,000 ports for the connections to
// one server.
const sources = 8

var transports atomic.Uint32

// newTransport is that of the agent (agent/client), except for its source address.
func newTransport() (http.RoundTripper, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(server.CA) {
		return nil, errors.New("reading the API's certificate: it is not PEM")
	}
	source := &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+transports.Add(1)%sources))}
	return &http.Transport{
		DialContext: (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: time.Minute, LocalAddr: source}).DialContext,
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: pool, ClientSessionCache: tls.NewLRUClientSessionCache(1),
		},
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     5 * time.Second,
		MaxIdleConnsPerHost: 2,
		WriteBufferSize:     2 << 10,
		ReadBufferSize:      2 << 10,
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{},
	}, nil
}
