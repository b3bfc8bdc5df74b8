// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imagerules"
)

// parked holds the connections of pending requests. net/http keeps two goroutines and about 14 KiB of buffers for the connection of a
// request, and an idle fleet consists of such connections. A parked connection is hijacked from net/http, keeps one goroutine with a minimal
// stack, and is returned as a new connection once it is answered; therefore parked is also a net.Listener.
type parked struct {
	hub   *hub
	roots *imagerules.Roots
	back  chan net.Conn

	closing sync.Once
	closed  chan struct{}

	parked sync.WaitGroup
}

func newParked(hub *hub, roots *imagerules.Roots) *parked {
	return &parked{hub: hub, roots: roots, back: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept returns the next connection that is returned.
func (l *parked) Accept() (net.Conn, error) {
	select {
	case connection := <-l.back:
		return connection, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept. Connections returned later are closed.
func (l *parked) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return nil
}

// Addr returns a placeholder.
func (l *parked) Addr() net.Addr { return &net.UnixAddr{Name: "parked", Net: "unix"} }

// empty waits until all parked requests have been answered, after the hub was closed.
func (l *parked) empty(ctx context.Context) error {
	empty := make(chan struct{})
	go func() {
		l.parked.Wait()
		close(empty)
	}()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// park takes over the connection of a pending request. It returns false if the connection closes after this request.
func (l *parked) park(w http.ResponseWriter, r *http.Request, held *poll) bool {
	if !canPeek || r.ProtoMajor != 1 || r.ProtoMinor != 1 || r.Close {
		return false
	}
	connection, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return false
	}
	if buffered.Reader.Buffered() > 0 {
		// The client pipelined another request, which HTTP clients no longer do; the part that was read cannot be put back.
		l.hub.leave(held.key, held.waiter)
		_ = connection.Close()
		return true
	}
	l.parked.Add(1)
	heldPolls.Inc()
	go l.wait(connection, held)
	return true
}

// wait ends at the host's deadline, when the hub wakes it, or when the host disconnects. The first two set deadlines of the socket, so no
// timer or channel is needed.
func (l *parked) wait(connection net.Conn, held *poll) {
	defer l.parked.Done()
	defer heldPolls.Dec()
	_ = connection.SetReadDeadline(time.Now().Add(held.patience))
	hungUp := false
	if l.hub.asleep(held.waiter, func() { _ = connection.SetReadDeadline(time.Unix(1, 0)) }) {
		hungUp = !errors.Is(untilReadable(connection), os.ErrDeadlineExceeded)
	}
	news := l.hub.leave(held.key, held.waiter)
	if hungUp {
		_ = connection.Close()
		return
	}
	status, body := answerTo(context.Background(), l.roots, held, news) // the read has a timeout of its own
	l.answer(connection, status, body)
}

// answer writes the response as net/http would, and returns the connection to it.
func (l *parked) answer(connection net.Conn, status int, body any) {
	response := http.Response{ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Close: l.hub.closed()}
	var content []byte
	response.StatusCode, content = encode(response.Header, status, body)
	response.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	response.ContentLength, response.Body = int64(len(content)), io.NopCloser(bytes.NewReader(content))

	whole := bytes.Buffer{}
	_ = response.Write(&whole) // a bytes.Buffer takes everything
	_ = connection.SetDeadline(time.Now().Add(answerTimeout))
	if _, err := connection.Write(whole.Bytes()); err != nil || response.Close {
		_ = connection.Close()
		return
	}
	_ = connection.SetDeadline(time.Time{})
	select {
	case l.back <- connection:
	case <-l.closed:
		_ = connection.Close()
	}
}

// untilReadable waits until there is something to read, which a waiting host does not send: it returns nil if the host disconnected, and the
// error of the socket's deadline otherwise.
func untilReadable(connection net.Conn) error {
	if secured, isTLS := connection.(interface{ NetConn() net.Conn }); isTLS {
		connection = secured.NetConn()
	}
	socket, isSocket := connection.(syscall.Conn)
	if !isSocket {
		return errors.New("connection is no socket")
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Read(somethingToRead)
}
