// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sequence runs an ordered list of idempotent steps over one observation and stops at the first
// that is not done.
//
// No position is stored: the next run starts over and passes the steps that the observation shows to be
// done. A restart, a second replica and a retry therefore all resume from the actual state.
package sequence
