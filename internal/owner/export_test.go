// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import "time"

// LookForControlPlanesEvery sets the interval at which controllers check for the CRD, and returns a
// function that restores it.
func LookForControlPlanesEvery(interval time.Duration) (restore func()) {
	former := lookForControlPlanes
	lookForControlPlanes = interval
	return func() { lookForControlPlanes = former }
}

// NoteWatched marks a kind as watched.
func NoteWatched(kind string) { watchedKinds.Store(kind, true) }

// ForgetWatchedKinds until restore is called.
func ForgetWatchedKinds() (restore func()) {
	former := []any{}
	watchedKinds.Range(func(kind, _ any) bool { former = append(former, kind); return true })
	watchedKinds.Clear()
	return func() {
		watchedKinds.Clear()
		for _, kind := range former {
			watchedKinds.Store(kind, true)
		}
	}
}
