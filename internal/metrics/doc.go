// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics counts objects when Prometheus asks for it. A gauge that is counted from the manager's
// cache needs no memory: it is right after a restart and after a change of the leader, and never drifts
// from what the API server has. Only the leader counts, so that the sum over all replicas is right.
//
// Counters and histograms of what happens are beside the code that it happens in.
package metrics
