// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/bench/benchmark"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	clustersVariable = "CLUSTERS_BENCH_CLUSTERS"
	// delay of a slow link.
	delay = 8 * time.Second
	// oneIn is the fraction of Clusters with a slow link.
	oneIn = 10
	// aim is the allowed slowdown of upgrades next to slow Clusters.
	aim = 1.2
)

// count is the number of Clusters.
var count = 50

func TestClustersBenchmark(t *testing.T) {
	specs.Run(t, "Clusters benchmark")
}

var _ = BeforeSuite(func() { benchmark.Size(clustersVariable, &count) })

// round is one upgrade of a node in each of the Clusters that are never slow, concurrently.
type round struct {
	// Slow is the number of slow Clusters.
	Slow int `json:"slow"`
	// Seconds from the patch of the template to the end of the attempt, in order.
	Seconds []float64 `json:"seconds"`
	// CPU seconds of the manager until the last attempt has ended.
	CPU float64 `json:"cpuSeconds"`
}

// quantile of the seconds, such as 0.5 for the median.
func (r round) quantile(q float64) float64 {
	return r.Seconds[min(len(r.Seconds)-1, int(q*float64(len(r.Seconds))))]
}

func (r round) String() string {
	return fmt.Sprintf("%d upgrades, %d slow clusters: median %5.1f s, 90%% %5.1f s, longest %5.1f s, %5.1f CPU s",
		len(r.Seconds), r.Slow, r.quantile(median), r.quantile(most), r.quantile(1), r.CPU)
}

const (
	median = 0.5
	most   = 0.9
)

func report(without, with round) {
	GinkgoHelper()
	for _, one := range []round{without, with} {
		slices.Sort(one.Seconds)
		AddReportEntry(one.String(), ReportEntryVisibilityAlways)
	}
	ratios := map[string]float64{}
	for name, q := range map[string]float64{"median": median, "90%": most, "longest": 1} {
		ratios[name] = with.quantile(q) / without.quantile(q)
	}
	AddReportEntry(fmt.Sprintf("beside slow clusters: median x%.2f, 90%% x%.2f, longest x%.2f (aim: within x%.1f)",
		ratios["median"], ratios["90%"], ratios["longest"], aim), ReportEntryVisibilityAlways)
	benchmark.Write("clusters", map[string]any{"without": without, "with": with, "ratios": ratios, "aim": aim})
}
