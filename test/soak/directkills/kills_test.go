// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package directkills_test

import (
	_ "embed"
	"flag"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/hostupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/killtable"
)

const (
	edgesFile = "testdata/edges.txt"
	// enough is the number of rollouts with room for more kills after which an edge is considered not to occur.
	enough = 5
)

//go:embed testdata/edges.txt
var committed string

var update = flag.Bool("update-edges", false, "write the recorded edges to "+edgesFile)

// onlyWaits is for a step that changes nothing: a manager that is killed in it finds what it found before.
const onlyWaits = ""

// lastOf the writes of each step.
var lastOf = map[string]string{
	"Preflight":     "management elementalhosts spec.upgrade set",
	"Prefetch":      "management elementalrollouts spec.imageDigest set",
	"Approve":       "management machines annotation elemental-approved-rollout set",
	"Admit":         "management elementalclusters/status status.upgradeSlots set",
	"Cordon":        "workload nodes spec.unschedulable set",
	"EvacuateVMs":   "workload virtualmachines spec.runStrategy changed",
	"Drain":         "workload pods/eviction create",
	"DetachVolumes": onlyWaits,
	"Trigger":       "management elementalhosts label in-place-upgrade=pending",
	"Reboot":        "management elementalhosts/status status.upgrade.phase=Assessing",
	"Assess":        "management elementalhosts/status status.upgrade.phase=Succeeded",
	"Uncordon":      "workload nodes spec.unschedulable removed",
	"RestoreVMs":    "workload virtualmachines label elemental-vm-stopped=nothing",
	"Settle":        onlyWaits,
}

var _ = Describe("The kill table of a patched template", Ordered, func() {
	AfterAll(func() { AddReportEntry("kill table", table.String()) })

	It("has an edge for each write of an undisturbed rollout", func(ctx SpecContext) {
		rollOut(ctx, 0) // which leaves a former rollout to the next one
		rollOut(ctx, 0)
		_, recorded, _, _ := scene.Look()
		if *update {
			Expect(killtable.WriteEdges(edgesFile, committed, recorded)).To(Succeed())
			Fail("wrote " + edgesFile + ": look at it, and run again")
		}
		missing, unknown := killtable.Compare(killtable.ReadEdges(committed), recorded)
		const advice = "run again with -update-edges after a change of what a rollout does"
		Expect(unknown).To(BeEmpty(), advice)
		Expect(missing).To(BeEmpty(), advice)
	})

	It("has an edge for each step that changes something", func() {
		listed := []string{}
		for _, each := range killtable.Certain(killtable.ReadEdges(committed)) {
			listed = append(listed, string(each.Edge))
		}
		for _, step := range hostupgrade.StepNames() {
			edge, known := lastOf[step]
			Expect(known).To(BeTrue(), "step %s is in lastOf", step)
			if edge != onlyWaits {
				Expect(listed).To(ContainElement(edge), "step %s", step)
			}
		}
	})

	DescribeTable("kills the manager on both sides of", func(ctx SpecContext, l killtable.Listed) {
		for idle := 0; len(table.Missing(l)) > 0; {
			if rollOut(ctx, killtable.KillsAtOnce) > 0 {
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
