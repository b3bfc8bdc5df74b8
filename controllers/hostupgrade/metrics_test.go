// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// seen is what a metric with one label says, by the label's value: a counter its count, a histogram how
// often it has observed.
func seen(metric string) map[string]float64 {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	found := map[string]float64{}
	for _, family := range families {
		if family.GetName() != metric {
			continue
		}
		for _, one := range family.GetMetric() {
			found[one.GetLabel()[0].GetValue()] = one.GetCounter().GetValue() + float64(one.GetHistogram().GetSampleCount())
		}
	}
	Expect(found).NotTo(BeEmpty(), metric)
	return found
}

func ends() map[string]float64 {
	GinkgoHelper()
	return seen("elemental_upgrade_attempts_total")
}

func stepCounts() map[string]float64 {
	GinkgoHelper()
	return seen("elemental_upgrade_step_duration_seconds")
}

// since are the values that have changed, and by how much.
func since(before, after map[string]float64) map[string]float64 {
	changed := map[string]float64{}
	for value := range after {
		if more := after[value] - before[value]; more != 0 {
			changed[value] = more
		}
	}
	return changed
}

var _ = DescribeTable("Attempts are counted once, by how they end",
	func(ctx SpecContext, name string, expected map[string]float64) {
		before := ends()
		s := scenarios[name]
		w := newWorld(ctx, s.options)
		if s.prepare != nil {
			s.prepare(ctx, w)
		}
		s.play(ctx, w)
		w.restart()
		w.drive(ctx, nil)
		Expect(since(before, ends())).To(Equal(expected))
	},
	Entry(nil, "Succeeded", map[string]float64{"Succeeded": 1}),
	Entry(nil, "RolledBack", map[string]float64{"RolledBack": 1}),
	Entry(nil, "Failed before the reboot", map[string]float64{"Failed": 1}),
	Entry(nil, "HostLost", map[string]float64{"HostLost": 1}),
	Entry(nil, "Superseded before the trigger", map[string]float64{"Superseded": 1}),
	Entry(nil, "Superseded after a roll-back", map[string]float64{"RolledBack": 1}),
	Entry(nil, "Aborted while paused", map[string]float64{"Aborted": 1}),
)

var _ = Describe("The metrics of attempts", func() {
	It("count every step of an attempt when it ends", func(ctx SpecContext) {
		before := stepCounts()
		Expect(before).To(HaveLen(16), "with those by which Rancher is answered")
		s := scenarios["Succeeded"]
		w := newWorld(ctx, s.options)
		s.play(ctx, w)
		Expect(since(before, stepCounts())).To(SatisfyAll(HaveLen(14), HaveEach(1.0)))
	})

	It("count an attempt that is deleted before its end", func(ctx SpecContext) {
		before := ends()
		w := newWorld(ctx, manual)
		w.drive(ctx, nil)
		Expect(live.Delete(ctx, get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}))).To(Succeed())
		for range 10 {
			_, err := w.reconcile(ctx)
			Expect(err).NotTo(HaveOccurred())
			w.agent.tick(ctx)
		}
		Expect(since(before, ends())).To(Equal(map[string]float64{"Deleted": 1}))
	})
})
