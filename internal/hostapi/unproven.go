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

// unproven bounds the connections on which nothing has been authenticated since they were opened or last answered: handshakes, headers and
// bodies in transit, kept connections between two requests, and callers that do not read a refusal. Anybody can open them without a token,
// and each takes memory until a deadline ends it. Beyond the limit the oldest is closed: a legitimate request takes one or two round trips.
// A connection no longer counts once a request on it has been authenticated and read, so that waiting hosts are not closed.
type unproven struct {
	limit int

	mu    sync.Mutex
	order *list.List // of net.Conn, the oldest first
	place map[net.Conn]*list.Element
}

func newUnproven(limit int) *unproven {
	return &unproven{limit: limit, order: list.New(), place: map[net.Conn]*list.Element{}}
}

// track is for http.Server.ConnState. http.StateActive proves nothing: the body may never arrive.
func (u *unproven) track(connection net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew, http.StateIdle:
		u.enter(connection)
	case http.StateHijacked, http.StateClosed:
		u.leave(connection)
	case http.StateActive:
	}
}

// provenKey is the context key of the function that exempts a connection.
type provenKey struct{}

// connContext is for http.Server.ConnContext.
func (u *unproven) connContext(ctx context.Context, connection net.Conn) context.Context {
	return context.WithValue(ctx, provenKey{}, func() { u.leave(connection) })
}

// proven marks the request as authenticated and read, so that its connection does not count until it is answered.
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

// hangUp closes the socket itself: TLS would wait to send close_notify.
func hangUp(connection net.Conn) {
	if secured, isTLS := connection.(interface{ NetConn() net.Conn }); isTLS {
		connection = secured.NetConn()
	}
	_ = connection.Close()
}
