// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hostapi measures the capacity of one replica of the Elemental API: concurrent registrations, idle
// hosts, and how fast a label reaches a host. The API runs in a process of its own, and memory and CPU time
// are those of that process alone. The hosts use the agent's own client, many to a process, and share the
// CPUs with it and with etcd and kube-apiserver. Failed requests are retried by the agent's policy. The
// figures are printed as a table with their targets, and written to bin/bench/hostapi.json. It fails if
// hosts are lost or duplicated, but not because of a figure.
//
//	HOSTAPI_BENCH_HOSTS=1000              number of hosts. Default: 30,000 if file descriptors and memory suffice, else 10,000
//	HOSTAPI_BENCH_IDLE=20s                how long they are idle. Default: two minutes
//	HOSTAPI_BENCH_PPROF=127.0.0.1:6060    where the API's process serves net/http/pprof. Default: not served
package hostapi
