// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kills_test

import (
	_ "embed"
	"flag"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
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
		leaveHistory(ctx) // and a former clone of the template: the next upgrade has to clean up
		upgradeWorker(ctx, 0)
		Eventually(templates, patience, look).WithContext(ctx).Should(Equal(3), "the former clone is collected")
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

// templates counts the templates: the one that is patched, its clones, and that of the other pool.
func templates(ctx SpecContext) (int, error) {
	list := &infrav1.ElementalMachineTemplateList{}
	err := theLab.Kube.List(ctx, list, client.InNamespace(cluster.Namespace()))
	return len(list.Items), err
}
