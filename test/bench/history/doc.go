// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history measures what ended attempts cost: three nodes are upgraded alone, and in a namespace that holds those
// of a fleet, which are copies of real ones. Cluster API, API servers and our manager are real, and agents are in a
// process each; the result is told and is in bin/bench/history.json.
//
//	HISTORY_BENCH_ATTEMPTS=10000   number of ended attempts
package history
