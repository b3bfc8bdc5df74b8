// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// unproven bounds the connections whose caller has proven nothing since it called, or since its last answer:
// handshakes, headers and bodies that are on their way, kept connections between two requests, and callers that
// do not read their refusal. Anybody can open them, no token is needed, and each costs memory until a deadline
// ends it. Beyond the limit the oldest is closed: a host asks within a round trip or two. A connection counts
// no more once a request on it is authenticated and read, so that a host which waits for its answer is kept.
type unproven struct {
	limit int

	mu    sync.Mutex
	order *list.List // of net.Conn, the oldest first
	place map[net.Conn]*list.Element
}

func newUnproven(limit int) *unproven {
	return &unproven{limit: limit, order: list.New(), place: map[net.Conn]*list.Element{}}
}

// track is for http.Server.ConnState. That a request has begun (http.StateActive) proves nothing: its body may
// never come.
func (u *unproven) track(connection net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew, http.StateIdle:
		u.enter(connection)
	case http.StateHijacked, http.StateClosed:
		u.leave(connection)
	case http.StateActive:
	}
}

// provenKey finds in a request's context what takes its connection out.
type provenKey struct{}

// connContext is for http.Server.ConnContext.
func (u *unproven) connContext(ctx context.Context, connection net.Conn) context.Context {
	return context.WithValue(ctx, provenKey{}, func() { u.leave(connection) })
}

// proven says that the request is authenticated and read, so that its connection counts no more until it is
// answered.
func proven(r *http.Request) {
	if leave, found := r.Context().Value(provenKey{}).(func()); found {
		leave()
	}
}

func (u *unproven) enter(connection net.Conn) {
	u.mu.Lock()
	u.remove(connection)
	u.place[connection] = u.order.PushBack(connection)
	var oldest net.Conn
	if u.order.Len() > u.limit {
		oldest = u.order.Front().Value.(net.Conn)
		u.remove(oldest)
	}
	u.mu.Unlock()
	if oldest != nil {
		droppedConnections.Inc()
		hangUp(oldest)
	}
}

func (u *unproven) leave(connection net.Conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.remove(connection)
}

func (u *unproven) remove(connection net.Conn) {
	if place, found := u.place[connection]; found {
		u.order.Remove(place)
		delete(u.place, connection)
	}
}

// hangUp closes the socket itself: TLS would wait to say goodbye.
func hangUp(connection net.Conn) {
	if secured, isTLS := connection.(interface{ NetConn() net.Conn }); isTLS {
		connection = secured.NetConn()
	}
	_ = connection.Close()
}
