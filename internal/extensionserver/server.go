// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package extensionserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimeserver "sigs.k8s.io/cluster-api/exp/runtime/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// DefaultPort of the hooks. The webhooks have another port because the API server, which calls them, has no client certificate.
const DefaultPort = 9444

// Options of a Server.
type Options struct {
	// Port to listen at.
	Port int
	// CertDir has tls.crt and tls.key of the runtime extension's Service. Without them every handshake fails.
	CertDir string
	// ClientCAFile has the authorities of client certificates, PEM-encoded. While it is missing every caller is refused. Empty: callers are
	// not verified.
	ClientCAFile string
	// ClientNames are the allowed names in client certificates.
	ClientNames []string
	// TLSOpts modify the TLS configuration.
	TLSOpts []func(*tls.Config)
}

// Server of the runtime extension.
type Server struct {
	*runtimeserver.Server
	address   string
	listening atomic.Bool
}

// New returns a server, which runs on every replica.
func New(options Options) (*Server, error) {
	catalog := runtimecatalog.New()
	if err := runtimehooksv1.AddToCatalog(catalog); err != nil {
		return nil, fmt.Errorf("listing the hooks of Cluster API: %w", err)
	}
	patches, err := catalog.GroupVersionHook(runtimehooksv1.GeneratePatches)
	if err != nil {
		return nil, fmt.Errorf("looking for a hook of Cluster API: %w", err)
	}
	g := &guard{bodies: newBodies(), patches: runtimecatalog.GVHToPath(patches, "")}
	if options.ClientCAFile != "" {
		g.callers = newCallers(options.ClientCAFile, options.ClientNames)
	}
	g.tell(options)
	server, err := runtimeserver.New(runtimeserver.Options{
		Catalog: catalog, Port: options.Port, TLSOpts: append(slices.Clone(options.TLSOpts), g.protect(newCertificate(options.CertDir))),
	})
	if err != nil {
		return nil, fmt.Errorf("making the server of the runtime extension: %w", err)
	}
	g.Server, server.Server = server.Server, g
	return &Server{Server: server, address: net.JoinHostPort("127.0.0.1", strconv.Itoa(options.Port))}, nil
}

// Ready reports whether the server listens. It does not try a handshake, which would fail without a client certificate.
func (s *Server) Ready(*http.Request) error {
	if s.listening.Load() {
		return nil
	}
	connection, err := net.DialTimeout("tcp", s.address, time.Second)
	if err != nil {
		return fmt.Errorf("the runtime extension does not listen yet: %w", err)
	}
	s.listening.Store(true) // the manager exits if the server does
	return connection.Close()
}

// guard verifies callers and bounds bodies for every hook.
type guard struct {
	webhook.Server
	bodies *bodies
	// callers is nil if they are not verified.
	callers *callers
	// patches is the prefix of the path of GeneratePatches.
	patches string
}

// tell logs, and sets in a metric, whether callers are verified.
func (g *guard) tell(options Options) {
	log := klog.Background().WithValues("port", options.Port)
	if g.callers == nil {
		verifiesCallers.Set(0)
		log.Info("Callers of the runtime extension are not verified: whoever reaches its port can call its hooks. " +
			"Set --runtime-extension-client-ca-file, see \"Client certificates\" in docs/install.md")
		return
	}
	verifiesCallers.Set(1)
	if g.callers.authorities.current() == nil {
		log.Error(errors.New("no authority of client certificates"), "All callers of the runtime extension are refused until there is one",
			"file", options.ClientCAFile)
	}
}

func (g *guard) protect(certificate *certificate) func(*tls.Config) {
	return func(config *tls.Config) {
		config.GetCertificate = certificate.get
		if g.callers == nil {
			return
		}
		config.ClientAuth = tls.RequireAnyClientCert
		config.VerifyConnection = g.callers.verify
		// A resumed session would not be verified against the present authorities.
		config.SessionTicketsDisabled = true
	}
}

// Register serves a hook for verified callers only, if callers are verified, and with bodies of bounded size.
func (g *guard) Register(path string, hook http.Handler) {
	limit := int64(maxBody)
	if strings.HasPrefix(path, g.patches+"/") {
		limit = maxPatchesBody
	}
	g.Server.Register(path, g.verified(g.bodies.upTo(limit, hook)))
}

// verified verifies the certificate again at every request, since a connection may stay open indefinitely.
func (g *guard) verified(next http.Handler) http.Handler {
	if g.callers == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil {
			refuse(w, http.StatusForbidden, "hooks are called over TLS only")
			return
		}
		if err := g.callers.verify(*r.TLS); err != nil {
			refuse(w, http.StatusForbidden, err.Error())
			return
		}
		next.ServeHTTP(w, r.WithContext(WithVerifiedCaller(r.Context())))
	})
}
