// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// silent bounds the connections on which nothing is being asked: handshakes and headers that are on their
// way, and kept connections between two requests. Anybody can open them, no token is needed, and each
// costs memory until headerTimeout or idleTimeout ends it. Beyond the limit the oldest is closed: a host
// asks within a round trip or two, and a host that waits for its answer is not silent.
type silent struct {
	limit int

	mu    sync.Mutex
	order *list.List // of net.Conn, the oldest first
	place map[net.Conn]*list.Element
}

func newSilent(limit int) *silent {
	return &silent{limit: limit, order: list.New(), place: map[net.Conn]*list.Element{}}
}

// track is for http.Server.ConnState.
func (s *silent) track(connection net.Conn, state http.ConnState) {
	if state == http.StateNew || state == http.StateIdle {
		s.enter(connection)
		return
	}
	s.mu.Lock()
	s.leave(connection)
	s.mu.Unlock()
}

func (s *silent) enter(connection net.Conn) {
	s.mu.Lock()
	s.leave(connection)
	s.place[connection] = s.order.PushBack(connection)
	var oldest net.Conn
	if s.order.Len() > s.limit {
		oldest = s.order.Front().Value.(net.Conn)
		s.leave(oldest)
	}
	s.mu.Unlock()
	if oldest != nil {
		droppedConnections.Inc()
		hangUp(oldest)
	}
}

func (s *silent) leave(connection net.Conn) {
	if place, found := s.place[connection]; found {
		s.order.Remove(place)
		delete(s.place, connection)
	}
}

// hangUp closes the socket itself: TLS would wait to say goodbye.
func hangUp(connection net.Conn) {
	if secured, isTLS := connection.(interface{ NetConn() net.Conn }); isTLS {
		connection = secured.NetConn()
	}
	_ = connection.Close()
}
