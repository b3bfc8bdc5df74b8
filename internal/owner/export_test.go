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
