// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusters measures what workload clusters that are slow to answer cost the others of one manager. Many Clusters share
// one workload API server, each by a link of its own, and a node is upgraded in each of them: once while all links are fast,
// and once while what comes by some of them arrives 8 s late. Cluster API, API servers and our manager are real, hosts are
// simulated. Every Cluster sees the Nodes of all the others, which are Ready and belong to no Machine of it. The result is told
// and is in bin/bench/clusters.json.
//
//	CLUSTERS_BENCH_CLUSTERS=50   number of Clusters, of which a tenth is slow
package clusters
