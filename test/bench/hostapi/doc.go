// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hostapi measures what one replica of the Elemental API takes: registrations at once, idle hosts, and how fast a label
// reaches a host. The API runs in a process of its own, and memory and processor time are those of that process alone: the
// hosts, which are the agent's own client, many to a process, share the processors with it and with etcd and kube-apiserver.
// Requests that fail are repeated by the agent's policy. The figures are printed as a table beside what they are to be, and are in
// bin/bench/hostapi.json. It fails where hosts are lost or doubled, and not for a figure.
//
//	HOSTAPI_BENCH_HOSTS=1000              number of hosts. Default: 30,000 where the machine has file descriptors and memory for them, 10,000 otherwise
//	HOSTAPI_BENCH_IDLE=20s                how long they idle. Default: two minutes
//	HOSTAPI_BENCH_PPROF=127.0.0.1:6060    where the API's process serves net/http/pprof. Default: nowhere
package hostapi
