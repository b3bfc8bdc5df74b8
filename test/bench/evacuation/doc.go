// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package evacuation measures what it costs to move the virtual machines off a node before it is upgraded: once in a cluster
// of two nodes, and once with 1,000 others in it. Cluster API, API servers, virt-api, virt-controller and our manager are
// real, and so are the agents; virt-handler and the guests are played, and so are the other nodes. What the manager asks of
// the workload cluster is counted from its audit log, which has all but reads of single Nodes; the result is told and is in
// bin/bench/evacuation.json.
//
//	EVACUATION_BENCH_VMS=500      number of virtual machines
//	EVACUATION_BENCH_NODES=1000   number of other nodes
package evacuation
