// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lab runs the real components of an upgrade on one machine, from binaries built from Go
// modules: a management cluster with Cluster API and our manager, a separate workload cluster, an image
// registry, and hosts that run the real agent against test doubles of the commands it executes.
//
// The demo, the integration tests and the benchmarks all run on this lab.
package lab
