// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package evacuation measures the cost of migrating the virtual machines off a node before it is upgraded:
// once in a cluster of two nodes, and once with 1,000 additional ones. Cluster API, API servers, virt-api,
// virt-controller, our manager and the agents are real; virt-handler, the guests and the additional nodes
// are simulated. The manager's requests to the workload cluster are counted from its audit log, which has
// all but reads of single Nodes. The result is printed and written to bin/bench/evacuation.json.
//
//	EVACUATION_BENCH_VMS=500      number of virtual machines
//	EVACUATION_BENCH_NODES=1000   number of additional nodes
package evacuation
