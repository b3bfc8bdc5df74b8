// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package evacuation

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/bench/benchmark"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// perMachine is the maximum number of calls that an evacuation should make for each virtual machine.
	perMachine = 6
	// patience is the timeout of an evacuation, and look the interval at which its progress is polled.
	patience = 40 * time.Minute
	look     = time.Second
)

// size is the number of virtual machines, and others that of additional Nodes.
var size, others = 500, 1000

func TestEvacuationBenchmark(t *testing.T) {
	specs.Run(t, "Evacuation benchmark")
}

var _ = BeforeSuite(func() {
	benchmark.Size("EVACUATION_BENCH_VMS", &size)
	benchmark.Size("EVACUATION_BENCH_NODES", &others)
})

// cost of one evacuation.
type cost struct {
	// Nodes of the cluster besides the one that is evacuated.
	Nodes int `json:"nodes"`
	// Moved is the number of migrated virtual machines.
	Moved int `json:"moved"`
	// Seconds from the patch of the template to the end of the attempt, and CPU seconds of the manager in that time.
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpuSeconds"`
	// PerMachine is the number of calls of the manager to the workload cluster for each virtual machine, and Calls
	// their kinds.
	PerMachine float64        `json:"callsPerVM"`
	Calls      map[string]int `json:"calls"`
}

func (c cost) String() string {
	return fmt.Sprintf("%d virtual machines, %4d other nodes: %.2f calls for each (aim: %d), %5.1f s, %5.1f CPU s",
		c.Moved, c.Nodes, c.PerMachine, perMachine, c.Seconds, c.CPU)
}

func report(costs ...cost) {
	GinkgoHelper()
	for _, one := range costs {
		AddReportEntry(one.String(), ReportEntryVisibilityAlways)
	}
	benchmark.Write("evacuation", map[string]any{"evacuations": costs, "aim": perMachine})
}
