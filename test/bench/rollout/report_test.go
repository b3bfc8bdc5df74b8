// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"runtime"
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

// figures of a cluster.
type figures struct {
	Nodes    int `json:"nodes"`
	Upgraded int `json:"upgraded"`
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
	// CPU seconds of the manager for each node that was upgraded, and Memory at the end of the rollout in MiB.
	CPU         float64 `json:"cpuSecondsPerNode"`
	Reconciles  float64 `json:"reconcilesPerNode"`
	MemoryAfter float64 `json:"memoryAfterMiB"`
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
}

// growth that is tolerated, and the other targets.
const (
	flat       = 1.5
	mostSlot   = 3.0
	mostWrites = 40.0
)

// row of the table.
type row struct {
	name  string
	value func(figures) float64
	// aim is printed next to the figures; missed reports that they do not meet it.
	aim    string
	missed func(first, last float64) bool
}

func grows(first, last float64) bool { return last > flat*first }

func over(most float64) func(float64, float64) bool {
	return func(first, last float64) bool { return max(first, last) > most }
}

func rows() []row {
	const isFlat = "within 1.5x"
	none := func(float64, float64) bool { return false }
	return []row{
		{"slot free to next trigger, median, s", func(f figures) float64 { return f.Slot.Median }, "<= 3 s", over(mostSlot)},
		{"  the same, growth", func(f figures) float64 { return f.Slot.Median }, isFlat, grows},
		{"slot free to next trigger, p90, s", func(f figures) float64 { return f.Slot.P90 }, isFlat, grows},
		{"slot free to slot taken, median, s", func(f figures) float64 { return f.Taken.Median }, "", none},
		{"rollout, a node, s", func(f figures) float64 { return f.Seconds }, "", none},
		{"management: reads a node", func(f figures) float64 { return f.Management.Reads }, isFlat, grows},
		{"management: writes a node", func(f figures) float64 { return f.Management.Writes }, "<= 40", over(mostWrites)},
		{"  of them reports of its host", func(f figures) float64 { return f.Reports }, "", none},
		{"management: received a node, KiB", func(f figures) float64 { return f.Management.Received }, isFlat, grows},
		{"management: sent a node, KiB", func(f figures) float64 { return f.Management.Sent }, isFlat, grows},
		{"workload: reads a node", func(f figures) float64 { return f.Workload.Reads }, isFlat, grows},
		{"workload: writes a node", func(f figures) float64 { return f.Workload.Writes }, isFlat, grows},
		{"workload: received a node, KiB", func(f figures) float64 { return f.Workload.Received }, isFlat, grows},
		{"workload: sent a node, KiB", func(f figures) float64 { return f.Workload.Sent }, isFlat, grows},
		{"manager: CPU a node, s", func(f figures) float64 { return f.CPU }, isFlat, grows},
		{"manager: reconciles a node", func(f figures) float64 { return f.Reconciles }, isFlat, grows},
		{fmt.Sprintf("machine: busy, of %d processors", runtime.NumCPU()), func(f figures) float64 { return f.Busy }, "", none},
		{"manager: idle CPU, cores", func(f figures) float64 { return f.IdleCPU }, "", none},
		{"manager: idle, received, KiB/s", func(f figures) float64 { return f.IdleReceived }, "", none},
		{"manager: idle memory, MiB", func(f figures) float64 { return f.Memory }, "", none},
		{"leader change: until settled, s", func(f figures) float64 { return f.Leader.Seconds }, "", none},
		{"leader change: CPU, s", func(f figures) float64 { return f.Leader.CPU }, "", none},
		{"leader change: received, MiB", func(f figures) float64 { return f.Leader.Received }, "", none},
		{"leader change: reconciles", func(f figures) float64 { return f.Leader.Reconciles }, "", none},
	}
}

// tell prints the table, with the growth from the first to the last size and the targets.
func tell(results []figures) {
	if len(results) == 0 {
		return
	}
	text := &strings.Builder{}
	line := func(name string, cells []string, growth, aim string) {
		_, _ = fmt.Fprintf(text, "%-38s", name)
		for _, cell := range cells {
			_, _ = fmt.Fprintf(text, " %10s", cell)
		}
		_, _ = fmt.Fprintf(text, "  %-24s %s\n", growth, aim)
	}
	heads := []string{}
	for _, f := range results {
		heads = append(heads, fmt.Sprintf("%d", f.Nodes))
	}
	line("nodes", heads, "growth", "aim")
	for _, r := range rows() {
		cells, growth := []string{}, []string{}
		for i, f := range results {
			cells = append(cells, fmt.Sprintf("%.3g", r.value(f)))
			if i > 0 {
				growth = append(growth, ratio(r.value(results[i-1]), r.value(f)))
			}
		}
		line(r.name, cells, strings.Join(growth, ", "), r.judge(r.value(results[0]), r.value(results[len(results)-1])))
	}
	AddReportEntry("What an upgrade costs by the size of the cluster", text.String(), ReportEntryVisibilityAlways)
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
