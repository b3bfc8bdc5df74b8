// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/bench/benchmark"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const attemptsVariable = "HISTORY_BENCH_ATTEMPTS"

// past is the number of ended attempts: those of 1,000 hosts, ten each.
var past = 10_000

func TestHistoryBenchmark(t *testing.T) {
	specs.Run(t, "History benchmark")
}

var _ = BeforeSuite(func() { benchmark.Size(attemptsVariable, &past) })

// cost of a rollout: the median of several.
type cost struct {
	// Past is the number of ended attempts of other hosts in the namespace.
	Past int `json:"past"`
	// Seconds that the rollout took, and CPU seconds of the manager in that time.
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpuSeconds"`
	// Memory is the manager's resident memory at the end, in MiB.
	Memory float64 `json:"memoryMiB"`
}

func (c cost) String() string {
	return fmt.Sprintf("%6d ended attempts of others: %5.1f s, %5.1f CPU s, %4.0f MiB", c.Past, c.Seconds, c.CPU, c.Memory)
}

func report(costs []cost) {
	GinkgoHelper()
	for _, one := range costs {
		AddReportEntry(one.String(), ReportEntryVisibilityAlways)
	}
	benchmark.Write("history", costs)
}
