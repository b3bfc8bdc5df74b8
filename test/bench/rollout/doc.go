// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout measures the cost of an upgrade in clusters of different sizes: twenty nodes of each are
// upgraded, one at a time, while others wait for the slot. Every host of the cluster has ten ended
// attempts. API servers, Cluster API and our manager are real; hosts are those of package fleet.
//
// The times are those at which API servers stored writes, from their audit logs: a slot is free when the
// ElementalCluster is stored without it, and a host triggered when its label is stored. Requests are
// counted by the manager itself (rest_client_requests_total), including Events and the watches that it
// opens. Bytes are those on its connections, including TLS, compressed responses and watches.
//
// The result is printed as a table, with the targets, and written to bin/bench/rollout.json.
//
// With a baseline, each size is measured with that version of the manager first, in the same run, and a second table
// has the ratios.
//
//	ROLLOUT_BENCH_NODES=10,100,1000        sizes of the clusters
//	ROLLOUT_BENCH_BASELINE=bin/baseline/X  folder with bin/manager and config/ of another version
package rollout
