// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Link forwards connections on a loopback port to a server, and can delay all that the server sends, as a connection
// with a high latency does.
type Link struct {
	port, server int
	listener     net.Listener
	delay        atomic.Int64

	mu   sync.Mutex
	open map[net.Conn]bool
}

// NewLink starts a Link to a loopback port.
func NewLink(server int) (*Link, error) {
	ports, err := Ports(1)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", loopback(ports[0]))
	if err != nil {
		return nil, fmt.Errorf("listening for a link: %w", err)
	}
	return LinkFrom(listener, server), nil
}

// LinkFrom starts a Link that accepts the connections of a listener, which may be in another network namespace.
func LinkFrom(listener net.Listener, server int) *Link {
	port := listener.Addr().(*net.TCPAddr).Port
	l := &Link{port: port, server: server, listener: listener, open: map[net.Conn]bool{}}
	go l.serve()
	return l
}

// Port on which the Link listens.
func (l *Link) Port() int { return l.port }

// Delay delays what the server sends from now on, on open connections too.
func (l *Link) Delay(by time.Duration) { l.delay.Store(int64(by)) }

// Close stops accepting connections and closes the existing ones.
func (l *Link) Close() {
	_ = l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for connection := range l.open {
		_ = connection.Close()
	}
}

func (l *Link) serve() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return // closed
		}
		go l.forward(client)
	}
}

func (l *Link) forward(client net.Conn) {
	server, err := net.Dial("tcp", loopback(l.server))
	if err != nil {
		_ = client.Close()
		return
	}
	l.mu.Lock()
	l.open[server] = true
	l.mu.Unlock()
	join(client, newDelayed(server, &l.delay))
	l.mu.Lock()
	delete(l.open, server)
	l.mu.Unlock()
}

// delayed is a connection to a server that delivers each chunk after the delay that was set when the chunk arrived.
// Chunks are delayed concurrently: latency is simulated, not bandwidth.
type delayed struct {
	net.Conn
	pieces chan piece
	ended  chan struct{}
	end    sync.Once
	// rest of a chunk that did not fit into the reader's buffer.
	rest []byte
}

type piece struct {
	data []byte
	due  time.Time
	err  error
}

func newDelayed(server net.Conn, delay *atomic.Int64) *delayed {
	const onTheWay = 1024
	d := &delayed{Conn: server, pieces: make(chan piece, onTheWay), ended: make(chan struct{})}
	go d.receive(delay)
	return d
}

func (d *delayed) receive(delay *atomic.Int64) {
	const most = 32 << 10
	for {
		data := make([]byte, most)
		n, err := d.Conn.Read(data)
		next := piece{data: data[:n], due: time.Now().Add(time.Duration(delay.Load())), err: err}
		select {
		case d.pieces <- next:
		case <-d.ended:
			return
		}
		if err != nil {
			return
		}
	}
}

// Read waits until the next chunk is due.
func (d *delayed) Read(into []byte) (int, error) {
	if len(d.rest) == 0 {
		var next piece
		select {
		case next = <-d.pieces:
		case <-d.ended:
			return 0, net.ErrClosed
		}
		select {
		case <-time.After(time.Until(next.due)):
		case <-d.ended:
			return 0, net.ErrClosed
		}
		if next.err != nil {
			return 0, next.err
		}
		d.rest = next.data
	}
	n := copy(into, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// Close also ends waiting reads.
func (d *delayed) Close() error {
	d.end.Do(func() { close(d.ended) })
	return d.Conn.Close()
}
