// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history measures the cost of ended attempts: three nodes are upgraded alone, and in a namespace
// with the ended attempts of a fleet, which are copies of real ones. Cluster API, API servers and our
// manager are real, and each agent is a process; the result is printed and written to
// bin/bench/history.json.
//
//	HISTORY_BENCH_ATTEMPTS=10000   number of ended attempts
package history
