// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loop is the agent's main loop: fetch the desired state, act, report.
//
// Fetching is one request that stays pending at the API until the desired state changes, so an idle agent
// has one open connection and no timer. Acting runs concurrently, on the latest desired state; a newer one
// interrupts it where that is safe. Only state on disk is kept between two acts: every act starts from
// the whole desired state and the observed state of the host.
package loop
