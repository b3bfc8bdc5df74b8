// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics has gauges that count objects in the manager's cache when Prometheus scrapes them. They keep no
// state, so they are correct after a restart and after a leader change, and do not drift from the API server.
// Only the leader reports them; otherwise the sum over all replicas would be wrong.
//
// Counters and histograms of events are in the packages in which the events occur.
package metrics
