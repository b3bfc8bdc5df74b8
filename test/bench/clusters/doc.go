// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusters measures how slowly responding workload clusters affect the other clusters of one
// manager. Many Clusters share one workload API server, each by a link of its own, and a node is upgraded
// in each of them: once while all links are fast, and once while responses over some of them arrive 8 s
// late. Cluster API, API servers and our manager are real, hosts are simulated. Every Cluster sees the
// Nodes of all the others, which are Ready and belong to no Machine of it. The result is printed and
// written to bin/bench/clusters.json.
//
//	CLUSTERS_BENCH_CLUSTERS=50   number of Clusters, of which a tenth is slow
package clusters
