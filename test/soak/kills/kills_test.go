// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kills_test

import (
	"flag"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

const (
	edgesFile = "testdata/edges.txt"
	// enough is the number of upgrades with room for more kills after which an edge is considered not to occur.
	enough = 5
)

var update = flag.Bool("update-edges", false, "write the recorded edges to "+edgesFile)

var _ = Describe("The kill table", Ordered, func() {
	AfterAll(func() { AddReportEntry("kill table", scene.table.String()) })

	It("has an edge for each side effect of an undisturbed upgrade", func(ctx SpecContext) {
		upgradeWorker(ctx, 0)
		leaveHistory(ctx) // and a former clone of the template: the next upgrade has to clean up
		upgradeWorker(ctx, 0)
		Eventually(templates, patience, look).WithContext(ctx).Should(Equal(3), "the former clone is collected")
		_, recorded, _, _ := scene.look()
		if *update {
			writeEdges(recorded)
			Fail("wrote " + edgesFile + ": look at it, and run again")
		}
		missing, unknown := compare(readEdges(committed), recorded)
		const advice = "run again with -update-edges after a change of what an upgrade does"
		Expect(unknown).To(BeEmpty(), advice)
		Expect(missing).To(BeEmpty(), advice)
	})

	DescribeTable("kills both processes on both sides of", func(ctx SpecContext, l listed) {
		for idle := 0; len(scene.table.missing(l)) > 0; {
			if upgradeWorker(ctx, killsAtOnce) > 0 {
				idle++
			}
			Expect(idle).To(BeNumerically("<", enough), "the edge comes up: missing is %v", scene.table.missing(l))
		}
	}, entries())
})

// compare compares the list with what was recorded. An edge that only changes text may or may not occur.
func compare(list []listed, recorded []edge) (missing, unknown []edge) {
	known := map[edge]bool{}
	for _, each := range list {
		known[each.edge] = true
		if !each.byChance && !slices.Contains(recorded, each.edge) {
			missing = append(missing, each.edge)
		}
	}
	for _, e := range recorded {
		if !known[e] && !e.isText() {
			unknown = append(unknown, e)
		}
	}
	return missing, unknown
}

// entries are the edges that occur in every upgrade. The processes are killed at the others too, when they occur.
func entries() []TableEntry {
	all := []TableEntry{}
	for _, each := range readEdges(committed) {
		if each.byChance {
			continue
		}
		all = append(all, Entry(string(each.edge), each))
	}
	return all
}

// templates counts the templates: the one that is patched, its clones, and that of the other pool.
func templates(ctx SpecContext) (int, error) {
	list := &infrav1.ElementalMachineTemplateList{}
	err := theLab.Kube.List(ctx, list, client.InNamespace(cluster.Namespace()))
	return len(list.Items), err
}

// writeEdges keeps the comments and flags of the list.
func writeEdges(recorded []edge) {
	GinkgoHelper()
	known, lines := map[edge]listed{}, []string{}
	for _, each := range readEdges(committed) {
		known[each.edge] = each
		if each.byChance && !slices.Contains(recorded, each.edge) {
			recorded = append(recorded, each.edge)
		}
	}
	for line := range strings.Lines(committed) {
		if strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	slices.Sort(recorded)
	for _, e := range recorded {
		each := known[e]
		each.edge = e
		lines = append(lines, each.String())
	}
	Expect(os.WriteFile(edgesFile, []byte(strings.Join(lines, "\n")+"\n"), 0o644)).To(Succeed())
}
