// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// figures of a cluster.
type figures struct {
	// Version of the manager; empty: that of this tree.
	Version  string `json:"version,omitempty"`
	Nodes    int    `json:"nodes"`
	Upgraded int    `json:"upgraded"`
	// Seconds for each node that was upgraded, the host's work and Cluster API's included.
	Seconds float64 `json:"secondsPerNode"`
	// Slot is from the release of a slot to the next node's trigger, and Taken to its acquisition, in seconds.
	Slot  spread `json:"slotToTriggerSeconds"`
	Taken spread `json:"slotToSlotSeconds"`
	// Management and Workload are the requests to the API servers.
	Management requests `json:"management"`
	Workload   requests `json:"workload"`
	// Reports of the host that were written, for each node that was upgraded.
	Reports float64 `json:"reportsPerNode"`
	// Writes to the management cluster in the whole rollout, by resource, without Events.
	Writes map[string]int `json:"writes"`
	// Reads from the management cluster, past the cache, in the whole rollout, by resource.
	Reads map[string]int `json:"reads"`
	// CPU seconds of the manager for each node that was upgraded, and Memory at the end of the rollout in MiB.
	CPU         float64 `json:"cpuSecondsPerNode"`
	Reconciles  float64 `json:"reconcilesPerNode"`
	MemoryAfter float64 `json:"memoryAfterMiB"`
	// ReconcilesBy are the reconciles of the whole rollout, by controller.
	ReconcilesBy map[string]float64 `json:"reconciles"`
	// Busy are the processors of the machine, of Processors, that were busy in the rollout: with the simulated hosts, the API servers, Cluster API and the
	// manager. Zero where the system does not say.
	Busy       float64 `json:"busyProcessors"`
	Processors int     `json:"processors"`
	// IdleCPU in cores, IdleReceived in KiB/s from both API servers and Memory in MiB of an idle manager.
	IdleCPU      float64      `json:"idleCores"`
	IdleReceived float64      `json:"idleReceivedKiBPerSecond"`
	Memory       float64      `json:"memoryMiB"`
	Leader       leaderChange `json:"leaderChange"`
}

// requests and KiB for each node that was upgraded.
type requests struct {
	Reads    float64 `json:"reads"`
	Writes   float64 `json:"writes"`
	Received float64 `json:"receivedKiB"`
	Sent     float64 `json:"sentKiB"`
}

// leaderChange is the cost until a new leader has reconciled everything.
type leaderChange struct {
	Seconds    float64 `json:"seconds"`
	CPU        float64 `json:"cpuSeconds"`
	Memory     float64 `json:"memoryMiB"`
	Received   float64 `json:"receivedMiB"`
	Reconciles float64 `json:"reconciles"`
	// ReconcilesBy are the reconciles by controller.
	ReconcilesBy map[string]float64 `json:"reconcilesBy"`
}

// growth that is tolerated, and the other targets.
const (
	flat       = 1.5
	mostSlot   = 3.0
	mostWrites = 40.0
	// mostOfLeader is how often a new leader may reconcile, for each node.
	mostOfLeader = 8.0
)

// row of the table.
type row struct {
	name  string
	value func(figures) float64
	// aim is printed next to the figures; missed reports that they do not meet it.
	aim    string
	missed func(first, last float64) bool
	// against is the most that the value may be of the baseline's. Zero: no aim.
	against float64
}

func grows(first, last float64) bool { return last > flat*first }

func over(most float64) func(float64, float64) bool {
	return func(first, last float64) bool { return max(first, last) > most }
}

func rows() []row {
	const isFlat = "within 1.5x"
	none := func(float64, float64) bool { return false }
	return []row{
		{"slot free to next trigger, median, s", func(f figures) float64 { return f.Slot.Median }, "<= 3 s", over(mostSlot), 1},
		{"  the same, growth", func(f figures) float64 { return f.Slot.Median }, isFlat, grows, 0},
		{"slot free to next trigger, p90, s", func(f figures) float64 { return f.Slot.P90 }, isFlat, grows, 0},
		{"slot free to slot taken, median, s", func(f figures) float64 { return f.Taken.Median }, "", none, 0},
		{"rollout, a node, s", func(f figures) float64 { return f.Seconds }, "", none, 1},
		{"management: reads a node", func(f figures) float64 { return f.Management.Reads }, isFlat, grows, 0.5},
		{"management: writes a node", func(f figures) float64 { return f.Management.Writes }, "<= 40", over(mostWrites), 1},
		{"  of them reports of its host", func(f figures) float64 { return f.Reports }, "", none, 0},
		{"management: received a node, KiB", func(f figures) float64 { return f.Management.Received }, isFlat, grows, 1},
		{"management: sent a node, KiB", func(f figures) float64 { return f.Management.Sent }, isFlat, grows, 0},
		{"workload: reads a node", func(f figures) float64 { return f.Workload.Reads }, isFlat, grows, 1},
		{"workload: writes a node", func(f figures) float64 { return f.Workload.Writes }, isFlat, grows, 1},
		{"workload: received a node, KiB", func(f figures) float64 { return f.Workload.Received }, isFlat, grows, 0},
		{"workload: sent a node, KiB", func(f figures) float64 { return f.Workload.Sent }, isFlat, grows, 0},
		{"manager: CPU a node, s", func(f figures) float64 { return f.CPU }, isFlat, grows, 0.6},
		{"manager: reconciles a node", func(f figures) float64 { return f.Reconciles }, isFlat, grows, 0.5},
		{fmt.Sprintf("machine: busy, of %d processors", runtime.NumCPU()), func(f figures) float64 { return f.Busy }, "", none, 0},
		{"manager: idle CPU, cores", func(f figures) float64 { return f.IdleCPU }, "", none, 0},
		{"manager: idle, received, KiB/s", func(f figures) float64 { return f.IdleReceived }, "", none, 0},
		{"manager: idle memory, MiB", func(f figures) float64 { return f.Memory }, "", none, 0},
		{"leader change: until settled, s", func(f figures) float64 { return f.Leader.Seconds }, "", none, 0.3},
		{"leader change: CPU, s", func(f figures) float64 { return f.Leader.CPU }, "", none, 0},
		{"leader change: received, MiB", func(f figures) float64 { return f.Leader.Received }, "", none, 0},
		{"leader change: reconciles a node", func(f figures) float64 { return f.Leader.Reconciles / float64(f.Nodes) }, "<= 8", over(mostOfLeader), 0},
	}
}

// table has the figures by size, with the growth from each size to the next and the targets.
func table(results []figures) string {
	if len(results) == 0 {
		return ""
	}
	text, heads := &strings.Builder{}, []string{}
	for _, f := range results {
		heads = append(heads, fmt.Sprintf("%d", f.Nodes))
	}
	line(text, "nodes", heads, "growth", "aim")
	for _, r := range rows() {
		cells, growth := []string{}, []string{}
		for i, f := range results {
			cells = append(cells, fmt.Sprintf("%.3g", r.value(f)))
			if i > 0 {
				growth = append(growth, ratio(r.value(results[i-1]), r.value(f)))
			}
		}
		line(text, r.name, cells, strings.Join(growth, ", "), r.judge(r.value(results[0]), r.value(results[len(results)-1])))
	}
	return text.String()
}

// comparison has the figures of both versions of each size that was measured with both, the ratio, and its target.
func comparison(results []figures) string {
	text := &strings.Builder{}
	for _, size := range sizes {
		of := slices.DeleteFunc(slices.Clone(results), func(f figures) bool { return f.Nodes != size })
		if len(of) < 2 {
			continue
		}
		before, now := of[0], of[1]
		line(text, fmt.Sprintf("\n%d nodes", size), []string{before.Version, "now"}, "ratio", "aim")
		for _, r := range rows() {
			aim, cells := "", []string{fmt.Sprintf("%.3g", r.value(before)), fmt.Sprintf("%.3g", r.value(now))}
			if r.against > 0 {
				aim = row{aim: fmt.Sprintf("<= x%.1f", r.against), missed: func(first, last float64) bool { return last > r.against*first }}.
					judge(r.value(before), r.value(now))
			}
			line(text, r.name, cells, ratio(r.value(before), r.value(now)), aim)
		}
	}
	return text.String()
}

func ofVersion(results []figures, name string) []figures {
	return slices.DeleteFunc(slices.Clone(results), func(f figures) bool { return f.Version != name })
}

func line(text *strings.Builder, name string, cells []string, growth, aim string) {
	_, _ = fmt.Fprintf(text, "%-38s", name)
	for _, cell := range cells {
		_, _ = fmt.Fprintf(text, " %10s", cell)
	}
	_, _ = fmt.Fprintf(text, "  %-24s %s\n", growth, aim)
}

func (r row) judge(first, last float64) string {
	switch {
	case r.aim == "":
		return ""
	case r.missed(first, last):
		return r.aim + ": MISSED"
	default:
		return r.aim + ": met"
	}
}

func ratio(before, after float64) string {
	if before == 0 {
		return "-"
	}
	return fmt.Sprintf("x%.2f", after/before)
}
