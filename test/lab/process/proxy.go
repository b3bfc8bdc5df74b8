// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Proxy connects processes to servers that they know by the name of a Service, as DNS and kube-proxy do for Pods. It is an
// HTTP proxy for nothing but CONNECT.
type Proxy struct {
	server  *http.Server
	address string
	// services are loopback ports, by host and port of what is asked for.
	services map[string]int
}

// NewProxy starts a Proxy.
func NewProxy(services map[string]int) (*Proxy, error) {
	ports, err := Ports(1)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", loopback(ports[0]))
	if err != nil {
		return nil, fmt.Errorf("listening for a proxy: %w", err)
	}
	p := &Proxy{address: listener.Addr().String(), services: services}
	p.server = &http.Server{Handler: http.HandlerFunc(p.connect), ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

// Env has a process of Go ask the proxy, but for what is on loopback.
func (p *Proxy) Env() []string {
	return []string{"HTTPS_PROXY=http://" + p.address, "NO_PROXY=localhost"}
}

// Close takes no more connections.
func (p *Proxy) Close() { _ = p.server.Close() }

func (p *Proxy) connect(answer http.ResponseWriter, request *http.Request) {
	port, known := p.services[request.Host]
	if request.Method != http.MethodConnect || !known {
		http.Error(answer, "no such Service: "+request.Host, http.StatusBadGateway)
		return
	}
	server, err := net.Dial("tcp", loopback(port))
	if err != nil {
		http.Error(answer, err.Error(), http.StatusBadGateway)
		return
	}
	client, _, err := http.NewResponseController(answer).Hijack()
	if err != nil {
		_ = server.Close()
		return
	}
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connected\r\n\r\n"); err != nil {
		_, _ = client.Close(), server.Close()
		return
	}
	join(client, server)
}
