// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

// Paths on a host; those of kubeadm, except for the configuration, which replaces the static Pod's manifest.
const (
	pkiDir     = "etc/kubernetes/pki/etcd"
	configFile = "etc/kubernetes/manifests/etcd.yaml"
	dataDir    = "var/lib/etcd"
	logDir     = "lab"
)

const (
	readyPoll    = 200 * time.Millisecond
	restartDelay = time.Second
)

// Options of a member.
type Options struct {
	// Name is that of the Node, which KubeadmControlPlane requires.
	Name string
	// Address that the member listens on.
	Address string
	// Root directory of the host.
	Root string
	// Binary of etcd.
	Binary string
}

// Member is the etcd member of a host.
type Member struct {
	opts   Options
	config config
	tls    *tls.Config

	stop     chan struct{}
	stopOnce sync.Once
}

// config is etcd's configuration file.
// Source: etcd 3.6, server/embed/config.go.
type config struct {
	Name              string   `json:"name"`
	DataDir           string   `json:"data-dir"`
	ListenClient      string   `json:"listen-client-urls"`
	AdvertiseClient   string   `json:"advertise-client-urls"`
	ListenPeer        string   `json:"listen-peer-urls"`
	AdvertisePeer     string   `json:"initial-advertise-peer-urls"`
	ListenMetrics     string   `json:"listen-metrics-urls"`
	InitialCluster    string   `json:"initial-cluster"`
	InitialState      string   `json:"initial-cluster-state"`
	ClientSecurity    security `json:"client-transport-security"`
	PeerSecurity      security `json:"peer-transport-security"`
	HeartbeatInterval int      `json:"heartbeat-interval"`
	ElectionTimeout   int      `json:"election-timeout"`
	UnsafeNoFsync     bool     `json:"unsafe-no-fsync"`
	LogLevel          string   `json:"log-level"`
}

type security struct {
	CertFile       string `json:"cert-file"`
	KeyFile        string `json:"key-file"`
	ClientCertAuth bool   `json:"client-cert-auth"`
	TrustedCAFile  string `json:"trusted-ca-file"`
}

// Create prepares the first member of a cluster. It does not start it.
func Create(o Options) (*Member, error) {
	m, err := prepare(o)
	if err != nil {
		return nil, err
	}
	m.config.InitialCluster, m.config.InitialState = o.Name+"="+m.config.AdvertisePeer, "new"
	return m, m.save()
}

// Join adds a member, as a learner, to the cluster whose members serve at the endpoints. It does not start it.
func Join(ctx context.Context, o Options, endpoints []string) (*Member, error) {
	m, err := prepare(o)
	if err != nil {
		return nil, err
	}
	// etcd rejects this while a recently added member is not well connected; kubeadm retries too.
	var members []MemberInfo
	err = until(ctx, func(ctx context.Context) (err error) {
		members, err = newClient(m.tls, endpoints...).add(ctx, m.config.AdvertisePeer)
		return err
	})
	if err != nil {
		return nil, err
	}
	peers := []string{}
	for _, each := range members {
		name := each.Name
		if name == "" { // a member without a name has not started yet: it is this one
			name = o.Name
		}
		peers = append(peers, name+"="+strings.Join(each.PeerURLs, ","))
	}
	m.config.InitialCluster, m.config.InitialState = strings.Join(peers, ","), "existing"
	return m, m.save()
}

// Load returns the member of a host; nil if it has none.
func Load(o Options) (*Member, error) {
	data, err := os.ReadFile(filepath.Join(o.Root, configFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of etcd: %w", err)
	}
	m := &Member{opts: o, stop: make(chan struct{})}
	if err := yaml.Unmarshal(data, &m.config); err != nil {
		return nil, fmt.Errorf("reading the configuration of etcd: %w", err)
	}
	return m, m.loadTLS()
}

// prepare signs the certificates and allocates ports.
func prepare(o Options) (*Member, error) {
	m := &Member{opts: o, stop: make(chan struct{})}
	if err := m.sign(); err != nil {
		return nil, err
	}
	ports, err := process.Ports(3)
	if err != nil {
		return nil, err
	}
	url := func(scheme string, port int) string {
		return scheme + "://" + net.JoinHostPort(o.Address, strconv.Itoa(port))
	}
	client, peer := url("https", ports[0]), url("https", ports[1])
	secured := security{
		CertFile: m.pki("server.crt"), KeyFile: m.pki("server.key"), ClientCertAuth: true, TrustedCAFile: m.pki("ca.crt"),
	}
	m.config = config{
		Name: o.Name, DataDir: filepath.Join(o.Root, dataDir),
		ListenClient: client, AdvertiseClient: client, ListenPeer: peer, AdvertisePeer: peer,
		ListenMetrics:  url("http", ports[2]),
		ClientSecurity: secured, PeerSecurity: secured,
		// Longer than the defaults (100 and 1000 ms), because many processes share the machine.
		HeartbeatInterval: 200, ElectionTimeout: 2000,
		// Data in the page cache survives the death of a process; only a crash of the machine would lose it.
		UnsafeNoFsync: true,
		LogLevel:      "warn",
	}
	return m, m.loadTLS()
}

func (m *Member) pki(name string) string { return filepath.Join(m.opts.Root, pkiDir, name) }

// sign issues the member's certificate with the CA from the bootstrap data.
func (m *Member) sign() error {
	certificate, err := os.ReadFile(m.pki("ca.crt"))
	if err != nil {
		return fmt.Errorf("reading etcd's authority: %w", err)
	}
	key, err := os.ReadFile(m.pki("ca.key"))
	if err != nil {
		return fmt.Errorf("reading etcd's authority: %w", err)
	}
	authority, err := pki.LoadAuthority(certificate, key)
	if err != nil {
		return err
	}
	pair, err := authority.Server(m.opts.Name, m.opts.Name, m.opts.Address)
	if err != nil {
		return err
	}
	return pki.WriteFiles(filepath.Join(m.opts.Root, pkiDir), map[string][]byte{"server.crt": pair.CertPEM, "server.key": pair.KeyPEM})
}

func (m *Member) loadTLS() (err error) {
	m.tls, err = clientTLS(m.opts.Root)
	return err
}

func (m *Member) save() error {
	data, err := yaml.Marshal(m.config)
	if err != nil {
		return fmt.Errorf("encoding the configuration of etcd: %w", err)
	}
	return pki.WriteFiles(filepath.Join(m.opts.Root, filepath.Dir(configFile)), map[string][]byte{filepath.Base(configFile): data})
}

// ClientURL is where the member serves clients.
func (m *Member) ClientURL() string { return m.config.AdvertiseClient }

// Run runs the member until ctx ends, which kills it, or Stop is called. If it exits by itself it is restarted, as a
// kubelet would.
func (m *Member) Run(ctx context.Context) {
	for m.runOnce(ctx) {
		select {
		case <-ctx.Done():
			return
		case <-m.stop:
			return
		case <-time.After(restartDelay):
		}
	}
}

// runOnce reports whether the member is to be restarted.
func (m *Member) runOnce(ctx context.Context) bool {
	child, err := process.Start(process.Spec{
		Name: "etcd", Path: m.opts.Binary, LogDir: filepath.Join(m.opts.Root, logDir),
		Args: []string{"--config-file=" + filepath.Join(m.opts.Root, configFile)},
	})
	if err != nil {
		return true
	}
	select {
	case <-child.Exited():
		return true
	case <-ctx.Done():
		child.Kill()
	case <-m.stop:
		child.Stop()
	}
	return false
}

// Stop stops the member gracefully.
func (m *Member) Stop() { m.stopOnce.Do(func() { close(m.stop) }) }

// Promote makes a learner a voting member, once it has caught up.
func (m *Member) Promote(ctx context.Context, endpoints []string) error {
	cluster := newClient(m.tls, endpoints...)
	return until(ctx, func(ctx context.Context) error { return cluster.promote(ctx, m.opts.Name) })
}

// AwaitReady waits until the member serves, which requires a quorum of the cluster.
func (m *Member) AwaitReady(ctx context.Context) error { return until(ctx, m.Ready) }

// until retries until it succeeds, and otherwise returns the last error.
func until(ctx context.Context, try func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, readyPoll, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(last, err)
	}
	return nil
}

// Ready returns nil when the member serves: the probe of kubeadm's static Pod.
func (m *Member) Ready(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.config.ListenMetrics+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("probing etcd: %w", err)
	}
	client := &http.Client{Timeout: requestTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("probing etcd: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("probing etcd: %s", response.Status)
	}
	return nil
}
