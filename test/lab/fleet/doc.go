// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet simulates hundreds of hosts in one process, for benchmarks. Each runs the agent's own loop, client and
// reports, so that the load on the manager is that of real hosts. What the agent does to its host is left out, and its
// kubelet is reduced to a Node with its Lease.
package fleet
