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

// hub holds the pending requests of hosts. An event of a host without one costs a single map lookup.
type hub struct {
	mu      sync.Mutex
	stopped bool
	waiting map[types.NamespacedName][]*waiter
}

// waiter is one pending request. All of it is guarded by the hub's lock.
type waiter struct {
	uid   types.UID
	known *wire.Desired
	// told is set once there is an answer: a new desired state, or nil if the host was replaced or deleted.
	told bool
	news *wire.Desired
	// wake ends the wait. It must not block.
	wake func()
}

func newHub() *hub {
	return &hub{waiting: map[types.NamespacedName][]*waiter{}}
}

// enter adds a request of a host that knows a revision. The caller then has to read the host once more, for changes in between.
func (h *hub) enter(host *infrav1.ElementalHost, known *wire.Desired) *waiter {
	entered := &waiter{uid: host.UID, known: known}
	key := client.ObjectKeyFromObject(host)
	h.mu.Lock()
	defer h.mu.Unlock()
	if others := h.waiting[key]; len(others) >= pollsPerHost {
		others[0].tell(others[0].known)
		h.waiting[key] = slices.Delete(others, 0, 1)
	}
	h.waiting[key] = append(h.waiting[key], entered)
	if h.stopped {
		entered.tell(known)
	}
	return entered
}

// asleep reports whether there is no answer yet; wake is then called when there is.
func (h *hub) asleep(one *waiter, wake func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	one.wake = wake
	return !one.told
}

// leave removes a request and returns its answer: the known desired state, if there is no other.
func (h *hub) leave(key types.NamespacedName, leaving *waiter) *wire.Desired {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keep(key, func(one *waiter) bool { return one != leaving })
	if !leaving.told {
		return leaving.known
	}
	return leaving.news
}

// changed wakes the requests of a host that know another revision.
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
			one.tell(nil)
		case one.known.Revision != desired.Revision:
			one.tell(&desired)
		}
		return !one.told
	})
}

// gone wakes the requests of a deleted host.
func (h *hub) gone(key types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.waiting[key] {
		one.tell(nil)
	}
	delete(h.waiting, key)
}

// close wakes all requests, present and future.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	for _, some := range h.waiting {
		for _, one := range some {
			one.tell(one.known)
		}
	}
	clear(h.waiting)
}

// closed reports whether the hub was closed.
func (h *hub) closed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stopped
}

func (h *hub) keep(key types.NamespacedName, wanted func(*waiter) bool) {
	left := slices.DeleteFunc(h.waiting[key], func(one *waiter) bool { return !wanted(one) })
	if len(left) == 0 {
		delete(h.waiting, key)
		return
	}
	h.waiting[key] = left
}

func (w *waiter) tell(news *wire.Desired) {
	if w.told {
		return
	}
	w.told, w.news = true, news
	if w.wake != nil {
		w.wake()
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
