// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Options of a registry.
type Options struct {
	// Address to listen on. Default 127.0.0.1 and any free port.
	Address string
	// PlainHTTP serves without TLS, which the elemental CLI tolerates and the agent does not.
	PlainHTTP bool
}

// Registry of images, in memory.
type Registry struct {
	requestLog
	plain  bool
	server *http.Server
	addr   string
	ca     []byte
}

// Start starts a registry, which is up when it returns.
func Start(o Options) (*Registry, error) {
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("starting image registry: %w", err)
	}
	r := &Registry{plain: o.PlainHTTP, addr: listener.Addr().String()}
	quiet := log.New(io.Discard, "", 0)
	r.server = &http.Server{
		Handler:           r.logged(registry.New(registry.Logger(quiet))),
		ErrorLog:          quiet,
		ReadHeaderTimeout: 10 * time.Second,
	}
	if !o.PlainHTTP {
		cert, ca, err := serverCertificate()
		if err != nil {
			return nil, errors.Join(err, listener.Close())
		}
		r.ca = ca
		listener = tls.NewListener(listener, &tls.Config{
			Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12,
		})
	}
	go func() { _ = r.server.Serve(listener) }()
	return r, nil
}

// Host is the host:port of the registry, with which its image references begin.
func (r *Registry) Host() string { return r.addr }

// CA is the PEM-encoded CA of the registry; nil over plain HTTP.
func (r *Registry) CA() []byte { return bytes.Clone(r.ca) }

// WriteCA writes the CA to a file, for SSL_CERT_FILE.
func (r *Registry) WriteCA(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing registry CA: %w", err)
	}
	return os.WriteFile(path, r.ca, 0o644)
}

// Transport trusts the registry's CA.
func (r *Registry) Transport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if !r.plain {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(r.ca)
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return t
}

// Close stops the registry.
func (r *Registry) Close() error { return r.server.Close() }
