// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hostapi measures what one replica of the Elemental API takes: a burst of registrations, idle
// hosts, and how fast a label reaches a host. The API runs in a process of its own, so that its memory
// and its time can be told from those of the hosts, which are the agent's own client, many to a process.
//
//	HOSTAPI_BENCH_HOSTS=1000   number of hosts
//	HOSTAPI_BENCH_IDLE=20s     how long they idle
package hostapi
