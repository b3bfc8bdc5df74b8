// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// hub knows which hosts wait for news. An event costs one look into a map; only that of a host that
// waits costs more.
type hub struct {
	closed chan struct{}

	mu      sync.Mutex
	stopped bool
	waiting map[types.NamespacedName][]*waiter
}

// waiter is one held request. It is told once: the news, or nil when the host is not that host any more.
type waiter struct {
	uid      types.UID
	revision string
	news     chan *wire.Desired
}

func newHub() *hub {
	return &hub{closed: make(chan struct{}), waiting: map[types.NamespacedName][]*waiter{}}
}

// wait enters a request that knows the host at a revision. Whoever enters has to look at the host once
// more afterwards, for what changed in between.
func (h *hub) wait(host *infrav1.ElementalHost, known *wire.Desired) *waiter {
	entered := &waiter{uid: host.UID, revision: known.Revision, news: make(chan *wire.Desired, 1)}
	key := client.ObjectKeyFromObject(host)
	h.mu.Lock()
	defer h.mu.Unlock()
	if others := h.waiting[key]; len(others) >= pollsPerHost {
		// The oldest is answered with what it knows.
		others[0].news <- known
		h.waiting[key] = slices.Delete(others, 0, 1)
	}
	h.waiting[key] = append(h.waiting[key], entered)
	return entered
}

// leave takes a request out, whether or not it was told.
func (h *hub) leave(key types.NamespacedName, leaving *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keep(key, func(one *waiter) bool { return one != leaving })
}

// changed tells those of a host that know another revision.
func (h *hub) changed(host *infrav1.ElementalHost) {
	key := client.ObjectKeyFromObject(host)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting[key]) == 0 {
		return
	}
	desired := Desired(host)
	h.keep(key, func(one *waiter) bool {
		switch {
		case one.uid != host.UID:
			one.news <- nil
			return false
		case one.revision != desired.Revision:
			one.news <- &desired
			return false
		}
		return true
	})
}

// gone tells those of a host that was deleted.
func (h *hub) gone(key types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keep(key, func(one *waiter) bool {
		one.news <- nil
		return false
	})
}

// keep filters the requests of a host. Each that is dropped is told at most once, before or here, so
// that its channel never blocks.
func (h *hub) keep(key types.NamespacedName, wanted func(*waiter) bool) {
	left := slices.DeleteFunc(h.waiting[key], func(one *waiter) bool { return !wanted(one) })
	if len(left) == 0 {
		delete(h.waiting, key)
		return
	}
	h.waiting[key] = left
}

// close ends all waiting, now and from now on.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.stopped {
		h.stopped = true
		close(h.closed)
	}
}

// eventHandler feeds the hub and the reporter from the informer.
func (s *Server) eventHandler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { s.observe(object) },
		UpdateFunc: func(_, object any) { s.observe(object) },
		DeleteFunc: s.forget,
	}
}

func (s *Server) observe(object any) {
	if host, isHost := object.(*infrav1.ElementalHost); isHost {
		s.hub.changed(host)
		s.reports.observed(host)
	}
}

func (s *Server) forget(object any) {
	if lost, isLost := object.(toolscache.DeletedFinalStateUnknown); isLost {
		object = lost.Obj
	}
	if host, isHost := object.(*infrav1.ElementalHost); isHost {
		key := client.ObjectKeyFromObject(host)
		s.hub.gone(key)
		s.reports.forget(key)
	}
}
