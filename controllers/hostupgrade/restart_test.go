// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// disturbed are the scenarios that are repeated for each of their writes: one for every list of things
// to do at an end, and those in which an answer of the host is waited for.
var disturbed = []string{
	"Succeeded", "RolledBack", "Failed before the reboot", "HostLost", "Superseded before the host has begun",
	"Superseded after a roll-back", "Aborted while paused", begunMeanwhile,
}

// disturb plays a scenario with one disturbance, and reports whether it came to that. Up to where it leaves
// the way to success a scenario is not disturbed: that is what "Succeeded" is for.
func disturb(ctx context.Context, name string, plan func(f *faults, writes int)) bool {
	GinkgoHelper()
	s := scenarios[name]
	ended, left := ends(), stepCounts()
	w := newWorld(ctx, s.options)
	defer removeClusterScoped(ctx)
	if s.prepare != nil {
		s.prepare(ctx, w)
	}
	s.lead(ctx, w, func() bool { return name == "Succeeded" || w.agent.marker.Message != "" })
	plan(w.faults, w.faults.count)
	w.drive(ctx, nil)
	found, expected := w.marks(ctx), s.expected(w)
	if name == begunMeanwhile {
		// The trigger was taken back too late. It is given again, so that the outcome is recorded, unless the
		// host came to its end before that.
		found.Label, expected.Label = "", ""
	} else {
		Expect(len(w.faults.triggers)).To(BeNumerically("<=", 1), "the attempt is triggered once")
	}
	Expect(found).To(Equal(expected))
	Expect(w.status(ctx).Message).To(Equal(w.inWords(s.message)))
	Expect(len(w.agent.applied)).To(BeNumerically("<=", 1), "the image is written once")
	for _, counted := range []map[string]float64{since(ended, ends()), since(left, stepCounts())} {
		Expect(counted).NotTo(ContainElement(BeNumerically(">", 1)), "no end and no step is counted twice: %v", counted)
	}
	return w.faults.disturbed
}

var _ = Describe("A controller", Label("restart"), func() {
	const enough = 60
	for _, name := range disturbed {
		It("that dies after any of its writes comes to the same end: "+name, func(ctx SpecContext) {
			for writes := 0; ; writes++ {
				Expect(writes).To(BeNumerically("<", enough))
				By(fmt.Sprintf("dying after %d writes", writes))
				if !disturb(ctx, name, func(f *faults, before int) { f.dieAfter = before + writes }) {
					return
				}
			}
		})
	}

	It("one of whose writes fails comes to the same end", func(ctx SpecContext) {
		for write := 1; ; write++ {
			Expect(write).To(BeNumerically("<", enough))
			By(fmt.Sprintf("failing write %d", write))
			if !disturb(ctx, "Succeeded", func(f *faults, before int) { f.failAt = before + write }) {
				return
			}
		}
	})

	It("that dies with the trigger still waits for the answer of a host that begins meanwhile", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.agent.stopAt, w.faults.dieAtTrigger = infrav1.HostUpgradeFetched, true
		for round := 0; !w.faults.dead; round++ {
			Expect(round).To(BeNumerically("<", enough))
			_, _ = w.reconcile(ctx)
			w.agent.tick(ctx)
		}
		w.faults.revive()
		w.restart()
		beginUnheard(ctx, w)
		cancel(ctx, w)
		w.agent.silent = true
		w.drive(ctx, nil)
		Expect(w.marks(ctx).Unschedulable).To(BeTrue(), "the host may be about to reboot")
		Expect(w.status(ctx).Message).To(HavePrefix(w.inWords("waiting for the elemental-agent of ElementalHost HOST to confirm that it has not started")))
		w.agent.silent, w.agent.stopAt = false, ""
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})
})
