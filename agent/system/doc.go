// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package system is the boundary between the agent and the host it runs on: the processes it starts,
// the files it may not lose, the clock it waits by. Everything else in the agent reaches the host
// through a Host, so that a test can put a recording fake (package systemtest) in its place and many
// agents can share one process.
package system
