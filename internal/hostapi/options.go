// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"cmp"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Defaults of Options, and limits that cannot be configured.
const (
	// DefaultBindAddress is the predecessor's.
	DefaultBindAddress = ":9090"
	// DefaultBodyTimeout is how long a host may take to send a request's body.
	DefaultBodyTimeout = 10 * time.Second
	// DefaultMaxUnproven is the maximum number of unauthenticated connections. Including the garbage of closed ones, they take less than 384
	// MiB.
	DefaultMaxUnproven = 4096
	// DefaultShutdownTimeout is how long requests in flight may take once the server stops. Pending long polls are answered at once.
	DefaultShutdownTimeout = 10 * time.Second

	// Files in Options.CertDir.
	certFile = "tls.crt"
	keyFile  = "tls.key"
	// authorityFile may be missing.
	authorityFile = "ca.crt"

	headerTimeout = 10 * time.Second // also bounds the TLS handshake
	idleTimeout   = 90 * time.Second
	answerTimeout = 15 * time.Second
	writeTimeout  = 30 * time.Second // of a write to the API server
	readTimeout   = 10 * time.Second // of a read from it that serves more than one caller
	maxHeader     = 16 << 10         // bytes

	// Vanished hosts are detected by TCP keepalive probes, which are infrequent because idle hosts send nothing else.
	probeAfter = time.Minute
	probeEvery = 15 * time.Second
	probes     = 4

	// pollsPerHost pending at a time. An agent has one; a second is needed if it reconnects before the server notices that the first
	// connection is lost.
	pollsPerHost = 2

	// Live reads for unauthenticated callers whose host is not in the cache: per second, and at once.
	missRate  = 100
	missBurst = 1000
)

// Options of a Server.
type Options struct {
	// Client writes hosts and their status.
	Client client.Client
	// APIReader reads live: bootstrap data, signing keys, hosts that are not in the cache yet.
	APIReader client.Reader
	// Cache is the manager's, with the indexes of internal/association. The server adds no informers except for hosts and registrations.
	Cache cache.Cache
	// Recorder of events for operators.
	Recorder events.EventRecorder
	// Clock for tokens and pending requests. Default: the real one.
	Clock clock.WithTicker

	// Endpoint is the base URL at which hosts reach this server, for example "https://elemental.example.com:9090". It is part of the
	// audience of tokens.
	Endpoint string
	// CertDir holds tls.crt and tls.key, which are read again when they change, and ca.crt: see Authorities.
	CertDir string
	// BindAddress to listen at. Default DefaultBindAddress.
	BindAddress string
	// TLSOpts modify the TLS configuration, which is TLS 1.2 and later with Go's cipher suites. The protocol is always HTTP/1.1.
	TLSOpts []func(*tls.Config)
	// Listener to use instead of BindAddress, without TLS of its own.
	Listener net.Listener

	// MaxUnproven, BodyTimeout and ShutdownTimeout: see their defaults.
	MaxUnproven     int
	BodyTimeout     time.Duration
	ShutdownTimeout time.Duration
}

func (o *Options) check() error {
	switch {
	case o.Client == nil || o.APIReader == nil || o.Cache == nil:
		return errors.New("host API needs a client, an API reader and a cache")
	case o.Recorder == nil:
		return errors.New("host API needs a recorder of Events")
	case o.Endpoint == "":
		return errors.New("host API needs an endpoint: the base URL under which hosts reach it")
	case o.CertDir == "":
		return errors.New("host API needs a directory with " + certFile + " and " + keyFile)
	}
	return nil
}

func (o *Options) complete() {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	o.BindAddress = cmp.Or(o.BindAddress, DefaultBindAddress)
	o.MaxUnproven = cmp.Or(o.MaxUnproven, DefaultMaxUnproven)
	o.BodyTimeout = cmp.Or(o.BodyTimeout, DefaultBodyTimeout)
	o.ShutdownTimeout = cmp.Or(o.ShutdownTimeout, DefaultShutdownTimeout)
}
