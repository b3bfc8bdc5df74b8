// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"sync"
	"time"
)

// absentKnownFor is how long a kind counts as absent.
const absentKnownFor = 5 * time.Second

// absentKinds are the kinds whose CRD was not installed a moment ago. Whoever lists such a kind asks the API server which kinds it
// has, each time. A kind that is watched is not absent: what its watch delivers must be found.
type absentKinds struct {
	mu    sync.Mutex
	since map[string]time.Time
}

func (a *absentKinds) note(kind string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since == nil {
		a.since = map[string]time.Time{}
	}
	a.since[kind] = now
}

func (a *absentKinds) isKnown(kind string, now time.Time) bool {
	if _, isWatched := watchedKinds.Load(kind); isWatched {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	since, isAbsent := a.since[kind]
	return isAbsent && now.Sub(since) < absentKnownFor
}

// watchedKinds are the kinds that WatchControlPlanes has found installed, by name.
var watchedKinds sync.Map
