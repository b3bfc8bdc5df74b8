// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// API is a manager that runs only the Elemental API.
type API struct {
	// Endpoint is the base URL that its tokens are for.
	Endpoint string
	// Address is the base URL under which it listens; the same, unless the endpoint was changed.
	Address string
	// CA that a client has to trust, PEM-encoded.
	CA []byte

	stop    context.CancelFunc
	stopped chan error
}

// StartAPI starts the Elemental API on a free port. The certificate is in folder.
func StartAPI(plane *apiserver.Server, folder string, change func(*hostapi.Options)) (*API, error) {
	ca, err := WriteCertificate(folder)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	manager, err := ctrl.NewManager(plane.Config, ctrl.Options{
		Scheme:  plane.Scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultTransform: cache.TransformStripManagedFields()}, // as the manager's
	})
	if err != nil {
		return nil, fmt.Errorf("making manager: %w", err)
	}
	if err := association.AddIndexes(context.Background(), manager.GetFieldIndexer()); err != nil {
		return nil, err
	}
	options := hostapi.Options{
		Client: manager.GetClient(), APIReader: manager.GetAPIReader(), Cache: manager.GetCache(),
		Recorder: manager.GetEventRecorder("elemental-api"),
		Endpoint: "https://" + listener.Addr().String(), CertDir: folder, Listener: listener,
	}
	if change != nil {
		change(&options)
	}
	server, err := hostapi.New(options)
	if err != nil {
		return nil, err
	}
	if err := manager.Add(server); err != nil {
		return nil, fmt.Errorf("adding the host API: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	address := "https://" + listener.Addr().String()
	api := &API{Endpoint: options.Endpoint, Address: address, CA: ca, stop: stop, stopped: make(chan error, 1)}
	go func() { api.stopped <- manager.Start(ctx) }()
	return api, nil
}

// Stop ends the manager and waits for it.
func (a *API) Stop() error {
	if a == nil {
		return nil
	}
	a.stop()
	return <-a.stopped
}

// Transport for clients that trust the API's certificate, with connections of its own.
func (a *API) Transport() (*http.Transport, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(a.CA) {
		return nil, errors.New("reading the API's certificate: it is not PEM")
	}
	return &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: time.Minute,
	}, nil
}
