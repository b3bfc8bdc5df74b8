// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loop is the agent's life: fetch what is desired, act, report.
//
// Fetching is one request that the API holds until there is something new, so an idle agent is one
// open connection and no timer of its own. Acting happens beside it, on the latest desired state; a
// newer one is seen while an act is under way, and interrupts it where that is safe. Nothing is
// remembered between two acts but what is on disk: every act starts from the whole desired state and
// from what the host is.
package loop
