// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy connects processes to servers by Service names, as DNS and kube-proxy do for Pods. It is an HTTP proxy that
// supports only CONNECT.
type Proxy struct {
	server  *http.Server
	address string
	// route is the address to connect to for a host:port; nil for a proxy of Services.
	route func(hostPort string) string

	mu sync.Mutex
	// services by requested host:port.
	services map[string]*service
}

// service is a server on loopback with its traffic.
type service struct {
	port           int
	received, sent atomic.Int64
}

// Traffic is the number of bytes that processes have received from a server and sent to it, TLS included.
type Traffic struct{ Received, Sent int64 }

// NewProxy starts a Proxy on loopback.
func NewProxy(services map[string]int) (*Proxy, error) {
	ports, err := Ports(1)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", loopback(ports[0]))
	if err != nil {
		return nil, fmt.Errorf("listening for a proxy: %w", err)
	}
	return serveProxy(listener, services, nil), nil
}

// NewRouter starts a Proxy on a Unix socket. It has no Services, and connects to the address that route returns for the
// host:port that it is asked for.
func NewRouter(socket string, route func(hostPort string) string) (*Proxy, error) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listening for a proxy: %w", err)
	}
	return serveProxy(listener, nil, route), nil
}

func serveProxy(listener net.Listener, services map[string]int, route func(hostPort string) string) *Proxy {
	p := &Proxy{address: listener.Addr().String(), services: map[string]*service{}, route: route}
	for name, port := range services {
		p.Add(name, port)
	}
	p.server = &http.Server{Handler: http.HandlerFunc(p.connect), ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(listener) }()
	return p
}

// Add adds a Service.
func (p *Proxy) Add(name string, port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.services[name] = &service{port: port}
}

// Traffic with a Service so far.
func (p *Proxy) Traffic(name string) Traffic {
	asked := p.service(name)
	if asked == nil {
		return Traffic{}
	}
	return Traffic{Received: asked.received.Load(), Sent: asked.sent.Load()}
}

func (p *Proxy) service(name string) *service {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.services[name]
}

// Env makes a Go process use the proxy, except for loopback addresses.
func (p *Proxy) Env() []string {
	return []string{"HTTPS_PROXY=http://" + p.address, "NO_PROXY=localhost"}
}

// Close stops accepting connections.
func (p *Proxy) Close() { _ = p.server.Close() }

func (p *Proxy) connect(answer http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodConnect {
		http.Error(answer, "only CONNECT is supported", http.StatusBadGateway)
		return
	}
	server, err := p.dial(request.Host)
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

// dial connects to a Service, or to what is routed.
func (p *Proxy) dial(hostPort string) (net.Conn, error) {
	if p.route != nil {
		return net.Dial("tcp", p.route(hostPort))
	}
	asked := p.service(hostPort)
	if asked == nil {
		return nil, fmt.Errorf("no such Service: %s", hostPort)
	}
	server, err := net.Dial("tcp", loopback(asked.port))
	if err != nil {
		return nil, err
	}
	return &counted{Conn: server, of: asked}, nil
}

// counted is a connection to a server whose bytes are counted.
type counted struct {
	net.Conn
	of *service
}

func (c *counted) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	c.of.received.Add(int64(n))
	return n, err
}

func (c *counted) Write(what []byte) (int, error) {
	n, err := c.Conn.Write(what)
	c.of.sent.Add(int64(n))
	return n, err
}
