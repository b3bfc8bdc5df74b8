// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround

// DecideOnControlPlane is the decision of WaitForControlPlane.
var DecideOnControlPlane = waitForControlPlane
