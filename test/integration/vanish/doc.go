// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vanish tries, on the lab, what an upgrade does when the objects it is about are deleted, scaled
// away or paused in its middle, when the workload cluster is away, and when health checks look on. Nothing
// deleted may stay, no node of a Machine may stay cordoned, and every host that is let go is reset and free
// again.
//
// The environment variable LAB_AWAY is how long the workload cluster's API server is away, 30s unless it is
// set.
package vanish
