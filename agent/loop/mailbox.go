// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"reflect"
	"sync"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// mailbox holds the latest desired state.
type mailbox struct {
	lock    sync.Mutex
	desired *wire.Desired
	// newer is closed and replaced when another state arrives.
	newer chan struct{}
}

func newMailbox() *mailbox { return &mailbox{newer: make(chan struct{})} }

// put replaces the state. An equal state is not a change.
func (m *mailbox) put(desired wire.Desired) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.desired != nil && sameAs(*m.desired, desired) {
		return
	}
	m.desired = &desired
	close(m.newer)
	m.newer = make(chan struct{})
}

// sameAs reports whether two states require the same. Whether the API has a report of the host changes the revision, but
// requires no action.
func sameAs(former, desired wire.Desired) bool {
	if former.Unreported != desired.Unreported {
		former.Unreported, former.Revision = desired.Unreported, desired.Revision
	}
	return reflect.DeepEqual(former, desired)
}

// look returns the latest state, nil before the first, and a channel that closes when the state is
// replaced.
func (m *mailbox) look() (*wire.Desired, <-chan struct{}) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.desired, m.newer
}

// when returns a channel that closes once stop returns true for the latest state. It stops
// watching when ctx ends.
func (m *mailbox) when(ctx context.Context, stop func(wire.Desired) bool) <-chan struct{} {
	stopped := make(chan struct{})
	go func() {
		for {
			desired, newer := m.look()
			if desired != nil && stop(*desired) {
				close(stopped)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-newer:
			}
		}
	}()
	return stopped
}
