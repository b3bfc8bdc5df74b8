// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	sizesVariable = "ROLLOUT_BENCH_NODES"
	// fewest is the minimum size of a cluster: one node whose attempts are copied, and as many as are upgraded or wait
	// concurrently.
	fewest = models + unavailable
)

// sizes of the clusters, in nodes.
var sizes []int

func TestRolloutBenchmark(t *testing.T) {
	for word := range strings.SplitSeq(cmp.Or(os.Getenv(sizesVariable), "10,100,1000"), ",") {
		size, err := strconv.Atoi(word)
		if err != nil || size < fewest {
			t.Fatalf("%s: %q is not a number of nodes, or less than %d", sizesVariable, word, fewest)
		}
		sizes = append(sizes, size)
	}
	specs.Run(t, "Rollout benchmark")
}
