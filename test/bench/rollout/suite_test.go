// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/repository"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	sizesVariable    = "ROLLOUT_BENCH_NODES"
	baselineVariable = "ROLLOUT_BENCH_BASELINE"
	// fewest is the minimum size of a cluster: one node whose attempts are copied, and as many as are upgraded or wait
	// concurrently.
	fewest = models + unavailable
)

// sizes of the clusters, in nodes.
var sizes []int

// version of our manager: the folder with its bin/manager and config/, and the name of that folder. That of this tree is the zero value.
type version struct{ name, root string }

// versions are measured one after the other with each size, the baseline first.
var versions = []version{{}}

func TestRolloutBenchmark(t *testing.T) {
	for word := range strings.SplitSeq(cmp.Or(os.Getenv(sizesVariable), "10,100,1000"), ",") {
		size, err := strconv.Atoi(word)
		if err != nil || size < fewest {
			t.Fatalf("%s: %q is not a number of nodes, or less than %d", sizesVariable, word, fewest)
		}
		sizes = append(sizes, size)
	}
	if root := os.Getenv(baselineVariable); root != "" {
		if !filepath.IsAbs(root) {
			repository, err := repository.Root()
			if err != nil {
				t.Fatal(err)
			}
			root = filepath.Join(repository, root)
		}
		versions = []version{{name: filepath.Base(root), root: root}, {}}
	}
	specs.Run(t, "Rollout benchmark")
}
