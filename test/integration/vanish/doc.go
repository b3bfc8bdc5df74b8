// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vanish tests, on the lab, what an upgrade does when its objects are deleted, scaled down or
// paused in the middle, when the workload cluster is down, and when MachineHealthChecks are active. No
// deletion may hang, no node of a Machine may stay cordoned, and every released host must be reset and
// available again.
//
// The environment variable LAB_AWAY is how long the workload cluster's API server is down; the default is
// 30s.
package vanish
