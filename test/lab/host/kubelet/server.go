// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
)

// Ports at which KubeadmControlPlane reaches the components of a control plane node. Source: Cluster API 1.14,
// controlplane/kubeadm/pkg/{etcd_client_generator,workload_cluster}.go.
const (
	etcdPort      = "2379"
	apiServerPort = "6443"
)

const headerTimeout = 10 * time.Second

// serve serves the kubelet's own API, of which only port forwarding is implemented, until ctx ends. The port is in
// the Node's status.
func (w *Writer) serve(ctx context.Context, b *Boot) error {
	config, err := w.serverTLS(b.Join.NodeName)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(w.address(b.Join.NodeName), "0"))
	if err != nil {
		return fmt.Errorf("listening as the kubelet of %s: %w", b.Join.NodeName, err)
	}
	forwarder := &forwarder{ctx: ctx, targets: w.targets(b)}
	routes := http.NewServeMux()
	routes.Handle("/portForward/{namespace}/{pod}", forwarder)
	server := &http.Server{
		Handler: routes, TLSConfig: config, ReadHeaderTimeout: headerTimeout, ErrorLog: log.New(os.Stderr, "kubelet ", 0),
		// SPDY upgrades connections, which HTTP/2 does not allow.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	b.port = int32(listener.Addr().(*net.TCPAddr).Port)
	go func() { _ = server.ServeTLS(listener, "", "") }()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return nil
}

// serverTLS has a self-signed certificate, and trusts only clients of the cluster.
func (w *Writer) serverTLS(node string) (*tls.Config, error) {
	authority, err := pki.NewAuthority(node + "-kubelet")
	if err != nil {
		return nil, err
	}
	pair, err := authority.Server(node, w.address(node))
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(pair.CertPEM, pair.KeyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading the kubelet's certificate: %w", err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(w.opts.Config.CAData)
	return &tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
		MinVersion: tls.VersionTLS12,
	}, nil
}

// targets maps the ports of the static Pods to the addresses at which the components really listen: the API server
// of the lab does not run on a host.
func (w *Writer) targets(b *Boot) map[string]string {
	key := func(component, port string) string { return staticPodName(component, b.Join.NodeName) + ":" + port }
	return map[string]string{
		key(etcdComponent, etcdPort):           hostPort(b.ControlPlane.EtcdURL),
		key(apiServerComponent, apiServerPort): hostPort(w.opts.Config.Host),
	}
}

func hostPort(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Host
}
