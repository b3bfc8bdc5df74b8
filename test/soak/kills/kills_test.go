// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kills_test

import (
	_ "embed"
	"flag"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/killtable"
)

const (
	edgesFile = "testdata/edges.txt"
	// enough is the number of upgrades with room for more kills after which an edge is considered not to occur.
	enough = 5
)

//go:embed testdata/edges.txt
var committed string

var update = flag.Bool("update-edges", false, "write the recorded edges to "+edgesFile)

var _ = Describe("The kill table", Ordered, func() {
	AfterAll(func() { AddReportEntry("kill table", table.String()) })

	It("has an edge for each side effect of an undisturbed upgrade", func(ctx SpecContext) {
		upgradeWorker(ctx, 0)
		leaveHistory(ctx) // the next upgrade has to clean up
		upgradeWorker(ctx, 0)
		_, recorded, _, _ := scene.Look()
		if *update {
			Expect(killtable.WriteEdges(edgesFile, committed, recorded)).To(Succeed())
			Fail("wrote " + edgesFile + ": look at it, and run again")
		}
		missing, unknown := killtable.Compare(killtable.ReadEdges(committed), recorded)
		const advice = "run again with -update-edges after a change of what an upgrade does"
		Expect(unknown).To(BeEmpty(), advice)
		Expect(missing).To(BeEmpty(), advice)
	})

	DescribeTable("kills both processes on both sides of", func(ctx SpecContext, l killtable.Listed) {
		for idle := 0; len(table.Missing(l)) > 0; {
			if upgradeWorker(ctx, killtable.KillsAtOnce) > 0 {
				idle++
			}
			Expect(idle).To(BeNumerically("<", enough), "the edge comes up: missing is %v", table.Missing(l))
		}
	}, entries())
})

func entries() []TableEntry {
	all := []TableEntry{}
	for _, each := range killtable.Certain(killtable.ReadEdges(committed)) {
		all = append(all, Entry(string(each.Edge), each))
	}
	return all
}
