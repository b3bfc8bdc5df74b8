// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import "time"

// LookForControlPlanesEvery sets how often it is looked for their CRD, and returns what sets it back.
func LookForControlPlanesEvery(interval time.Duration) (restore func()) {
	former := lookForControlPlanes
	lookForControlPlanes = interval
	return func() { lookForControlPlanes = former }
}
