// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// registrations reports concurrent registrations of hosts. Lost or duplicate hosts are not a
// figure, but fail the spec.
func (r *result) registrations(took []time.Duration, asked tally, used usage, failures map[string]int) {
	r.of = fmt.Sprintf("%d registrations at once", len(took))
	r.addAtLeast("rate", float64(len(took))/quantile(took, 1).Seconds(), wantedRate, "hosts/s")
	r.add("until half are registered", quantile(took, 0.5).Seconds(), "s")
	r.add("until all are registered", quantile(took, 1).Seconds(), "s")
	r.add("writes a host", asked.writes/float64(len(took)), "")
	r.add("reads a host", asked.reads/float64(len(took)), "")
	r.cost(asked, used, failures, len(took))
}

// reports reports concurrent status reports of hosts.
func (r *result) reports(which string, took []time.Duration, asked tally, used usage, failures map[string]int) {
	r.of = fmt.Sprintf("%d %s reports at once", len(took), which)
	r.add("rate", float64(len(took))/quantile(took, 1).Seconds(), "reports/s")
	r.add("writes a host", asked.writes/float64(len(took)), "")
	r.cost(asked, used, failures, len(took))
}

// cost reports the cost of concurrent requests of hosts.
func (r *result) cost(asked tally, used usage, failures map[string]int, hosts int) {
	r.add("processor time of the API a host", milliseconds(used.CPU)/float64(hosts), "ms")
	r.add("processor time of kube-apiserver a host", asked.cpu*1000/float64(hosts), "ms")
	r.add("connections that the API closed", float64(used.DroppedConnections), "")
	for _, kind := range slices.Sorted(maps.Keys(failures)) {
		r.add("requests that were repeated, "+kind, float64(failures[kind]), "")
	}
}

// idle reports idle hosts: what they used in that time, and the memory with and without them.
func (r *result) idle(asked tally, used, without, with usage, hosts int) {
	r.of = fmt.Sprintf("%d idle hosts, for %s", hosts, idle)
	r.addAtMost("processor time of the API", used.CPU.Seconds()/idle.Seconds(), wantedCores, "cores")
	r.addAtMost("resident memory of the API", mebibytes(used.RSSBytes), wantedMemory, "MiB")
	r.add("resident without connections, garbage collected", mebibytes(without.RSSBytes), "MiB")
	r.add("resident with them, garbage collected", mebibytes(with.RSSBytes), "MiB")
	r.add("most that was resident since the start", mebibytes(with.PeakRSSBytes), "MiB")
	r.add("memory of a held request", float64(with.HeapBytes+with.StackBytes-without.HeapBytes-without.StackBytes)/float64(hosts)/1024, "KiB")
	r.addAtMost("writes", asked.writes, 0, "")
	r.addAtMost("reads", asked.reads, 0, "")
}

// labels reports how long labels took to reach their hosts, including the write of the label.
func (r *result) labels(delays []time.Duration, held int) {
	r.of = fmt.Sprintf("label to agent, the write included, %d labels at %d held connections", len(delays), held)
	r.addAtMost("99 in 100 within", milliseconds(quantile(delays, 0.99)), wantedDelay, "ms")
	r.add("half within", milliseconds(quantile(delays, 0.5)), "ms")
	r.add("all within", milliseconds(quantile(delays, 1)), "ms")
}

// since is the usage since before, and the current resident memory.
func (u usage) since(before usage) usage {
	u.CPU -= before.CPU
	u.DroppedConnections -= before.DroppedConnections
	return u
}

// failuresOf hosts since the last call, by kind.
func failuresOf(hosts []*host) map[string]int {
	sum := map[string]int{}
	for _, one := range hosts {
		for kind, times := range one.failures {
			sum[kind] += times
		}
		clear(one.failures)
	}
	return sum
}
