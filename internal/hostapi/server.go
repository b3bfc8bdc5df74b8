// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imagerules"
)

// Server is the Elemental API. Add it to a manager; it runs on every replica.
type Server struct {
	options       Options
	client        client.Client
	live          client.Reader
	recorder      events.EventRecorder
	clock         clock.WithTicker
	hosts         *hosts
	registrations *registrations
	roots         *imagerules.Roots
	hub           *hub
	parked        *parked
	quota         *quota
	places        *places
	admissions    *admissions
	reports       *reporter
	listening     atomic.Bool
}

// New returns a Server. It fails if an option without a default is missing.
func New(options Options) (*Server, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	options.complete()
	known, hub := newHosts(options.Cache, options.APIReader), newHub()
	registrations := newRegistrations(options.Cache, options.APIReader, options.Clock, options.Endpoint)
	quota, roots := newQuota(options.Clock, registrations), &imagerules.Roots{Live: options.APIReader, Clock: options.Clock}
	return &Server{
		options:       options,
		client:        options.Client,
		live:          options.APIReader,
		recorder:      options.Recorder,
		clock:         options.Clock,
		hosts:         known,
		registrations: registrations,
		roots:         roots,
		hub:           hub,
		parked:        newParked(hub, roots),
		quota:         quota,
		places:        newPlaces(options.Cache, options.Clock),
		admissions:    newAdmissions(),
		reports:       newReporter(options.Client, options.Clock, known, quota),
	}, nil
}

// NeedLeaderElection is false: the server runs on every replica.
func (s *Server) NeedLeaderElection() bool { return false }

// Ready is a readiness check: it fails until hosts can connect.
func (s *Server) Ready(*http.Request) error {
	if !s.listening.Load() {
		return errors.New("the Elemental API does not listen yet")
	}
	return nil
}

// Start serves until the context ends. Pending requests are then answered, so that hosts connect to another replica at once.
func (s *Server) Start(ctx context.Context) error {
	if err := s.watch(ctx); err != nil {
		return err
	}
	certificates, err := s.certificates(ctx)
	if err != nil {
		return err
	}
	listener, err := s.listen(ctx)
	if err != nil {
		return err
	}
	s.listening.Store(true)
	server := s.httpServer(ctx, certificates)
	ctrl.LoggerFrom(ctx).Info("Serving the Elemental API", "address", listener.Addr().String(), "endpoint", s.options.Endpoint)
	return s.serve(ctx, server, listener)
}

// watch connects the manager's informers to the hub. It returns after their first list, so that no request sees an empty cache.
func (s *Server) watch(ctx context.Context) error {
	if _, err := s.options.Cache.GetInformer(ctx, &infrav1.ElementalRegistration{}); err != nil {
		return fmt.Errorf("watching ElementalRegistrations: %w", err)
	}
	informer, err := s.options.Cache.GetInformer(ctx, &infrav1.ElementalHost{})
	if err != nil {
		return fmt.Errorf("watching ElementalHosts: %w", err)
	}
	registration, err := informer.AddEventHandler(s.eventHandler())
	if err != nil {
		return fmt.Errorf("watching ElementalHosts: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = informer.RemoveEventHandler(registration) })
	return nil
}

func (s *Server) certificates(ctx context.Context) (*certwatcher.CertWatcher, error) {
	directory := s.options.CertDir
	watcher, err := certwatcher.New(filepath.Join(directory, certFile), filepath.Join(directory, keyFile))
	if err != nil {
		return nil, fmt.Errorf("reading certificate of the host API in %s: %w", directory, err)
	}
	go func() {
		if err := watcher.Start(ctx); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Certificates of the Elemental API are no longer reloaded", "directory", directory)
		}
	}()
	return watcher, nil
}

func (s *Server) listen(ctx context.Context) (net.Listener, error) {
	if s.options.Listener != nil {
		return s.options.Listener, nil
	}
	keepAlive := net.KeepAliveConfig{Enable: true, Idle: probeAfter, Interval: probeEvery, Count: probes}
	listener, err := (&net.ListenConfig{KeepAliveConfig: keepAlive}).Listen(ctx, "tcp", s.options.BindAddress)
	if err != nil {
		return nil, fmt.Errorf("listening for hosts: %w", err)
	}
	return listener, nil
}

// httpServer sets neither WriteTimeout nor ReadTimeout: both would end pending requests. The handlers set their own deadlines for bodies and
// responses.
func (s *Server) httpServer(ctx context.Context, certificates *certwatcher.CertWatcher) *http.Server {
	unproven := newUnproven(s.options.MaxUnproven)
	server := &http.Server{
		Handler:           s.handler(),
		ConnState:         unproven.track,
		ConnContext:       unproven.connContext,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		TLSConfig: &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: certificates.GetCertificate,
		},
		Protocols: http1Only(),
		// Requests in flight may outlive ctx.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ErrorLog:    log.New(quietWriter{ctrl.LoggerFrom(ctx)}, "", 0),
	}
	for _, change := range s.options.TLSOpts {
		change(server.TLSConfig)
	}
	server.RegisterOnShutdown(s.hub.close)
	return server
}

// http1Only disables HTTP/2: one authenticated request would exempt its connection, and all other requests on it, from the limit of unproven
// connections, and no connection could be parked.
func http1Only() *http.Protocols {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	return protocols
}

// serve also serves returned connections, as if they were new.
func (s *Server) serve(ctx context.Context, server *http.Server, listener net.Listener) error {
	failed := make(chan error, 2)
	go func() { failed <- server.ServeTLS(listener, "", "") }()
	go func() { failed <- server.Serve(s.parked) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving hosts: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.options.ShutdownTimeout)
	defer cancel()
	err := server.Shutdown(grace)
	if err == nil {
		err = s.parked.empty(grace)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if err != nil {
		return fmt.Errorf("stopping the Elemental API: %w", err)
	}
	return nil
}

// quietWriter logs messages of net/http about connections at a high verbosity: most are failed handshakes, which anybody can cause.
type quietWriter struct{ log logr.Logger }

func (w quietWriter) Write(line []byte) (int, error) {
	w.log.V(4).Info("Connection of a host failed", "reason", string(line))
	return len(line), nil
}
