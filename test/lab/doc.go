// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lab starts the real parts of an upgrade on one machine, from binaries built from Go modules: a
// management cluster with Cluster API and our manager, a separate workload cluster, an image
// registry, and hosts with real agents over doubles at their process boundary.
//
// The demo, the integration tests and the benchmarks are this lab.
package lab
