// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet simulates hosts by the hundreds in one process, for benchmarks. Each is the agent's own loop, client and
// reports, so that the manager is asked as it is by real hosts; what the agent does to its host is left out, and a Node
// with its Lease is all that there is of its kubelet.
package fleet
