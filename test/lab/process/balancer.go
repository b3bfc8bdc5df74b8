// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
)

// Balancer forwards connections on a loopback port to replicas of a server in round-robin order, as a Service
// does for Pods. A replica that does not accept connections is skipped.
type Balancer struct {
	port     int
	listener net.Listener

	mu sync.Mutex
	// backends are ports; out of service are those in without.
	backends []int
	without  map[int]bool
	next     int
	// open connections to each backend.
	open map[int]map[net.Conn]bool
}

// Balance starts a Balancer in front of loopback ports.
func Balance(backends ...int) (*Balancer, error) {
	ports, err := Ports(1)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", loopback(ports[0]))
	if err != nil {
		return nil, fmt.Errorf("listening for a balancer: %w", err)
	}
	b := &Balancer{
		port: ports[0], listener: listener, backends: backends, without: map[int]bool{}, open: map[int]map[net.Conn]bool{},
	}
	go b.serve()
	return b, nil
}

// Port on which the Balancer listens.
func (b *Balancer) Port() int { return b.port }

// Exclude takes a backend out of service and closes its connections.
func (b *Balancer) Exclude(backend int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.without[backend] = true
	for connection := range b.open[backend] {
		_ = connection.Close()
	}
}

// Include puts a backend back into service.
func (b *Balancer) Include(backend int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.without, backend)
}

// Replace replaces the backends, and closes the connections to the former ones.
func (b *Balancer) Replace(backends ...int) {
	b.mu.Lock()
	former := b.backends
	b.backends = backends
	b.mu.Unlock()
	for _, backend := range former {
		if !slices.Contains(backends, backend) {
			b.Exclude(backend)
		}
	}
	for _, backend := range backends {
		b.Include(backend)
	}
}

// Close stops accepting connections and closes the existing ones.
func (b *Balancer) Close() {
	_ = b.listener.Close()
	for _, backend := range b.backends {
		b.Exclude(backend)
	}
}

func (b *Balancer) serve() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return // closed
		}
		go b.forward(client)
	}
}

func (b *Balancer) forward(client net.Conn) {
	defer func() { _ = client.Close() }()
	for _, backend := range b.inTurn() {
		server, err := net.Dial("tcp", loopback(backend))
		if err != nil {
			continue
		}
		if !b.opened(backend, server) {
			_ = server.Close()
			continue
		}
		join(client, server)
		b.closed(backend, server)
		return
	}
}

// inTurn returns the backends that are in service, each time beginning with the next one.
func (b *Balancer) inTurn() []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	first := b.next % max(1, len(b.backends))
	turn := slices.Concat(b.backends[first:], b.backends[:first])
	return slices.DeleteFunc(turn, func(backend int) bool { return b.without[backend] })
}

func (b *Balancer) opened(backend int, connection net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.without[backend] {
		return false
	}
	if b.open[backend] == nil {
		b.open[backend] = map[net.Conn]bool{}
	}
	b.open[backend][connection] = true
	return true
}

func (b *Balancer) closed(backend int, connection net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open[backend], connection)
}

// join copies in both directions until one side closes, and then closes both: a client must notice immediately
// when a server ends.
func join(a, b net.Conn) {
	done := make(chan struct{}, 2)
	oneWay := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		done <- struct{}{}
	}
	go oneWay(a, b)
	go oneWay(b, a)
	<-done
	_, _ = a.Close(), b.Close()
	<-done
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
