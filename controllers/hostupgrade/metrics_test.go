// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/hostupgrade"
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

	DescribeTable("count attempts by what holds them",
		func(ctx SpecContext, change func(*infrav1.ElementalHostUpgrade), expected map[string]int) {
			w := newWorld(ctx, infrav1.NodeUpgradeOption{})
			upgrade := get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{})
			change(upgrade)
			Expect(live.Status().Update(ctx, upgrade)).To(Succeed())
			Expect(heldIn(ctx, w.namespace)).To(Equal(expected))
		},
		Entry("nothing yet", func(*infrav1.ElementalHostUpgrade) {}, map[string]int{"Pending": 1}),
		Entry("a step", at("Drain"), map[string]int{"Drain": 1}),
		Entry("the first check that blocks", func(u *infrav1.ElementalHostUpgrade) {
			at("Preflight")(u)
			u.Status.Preflight = []infrav1.PreflightResult{
				{Check: "KubeletVersion", Verdict: infrav1.PreflightWarn},
				{Check: "NodeReady", Verdict: infrav1.PreflightBlock, Message: "free text"},
				{Check: "OtherNodes", Verdict: infrav1.PreflightBlock},
			}
		}, map[string]int{"NodeReady": 1}),
		Entry("the first step without a check that blocks", at("Preflight"), map[string]int{"Preflight": 1}),
		Entry("a pause of its Cluster", func(u *infrav1.ElementalHostUpgrade) {
			at("Drain")(u)
			conditions.Set(u, metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionTrue, Reason: clusterv1.PausedReason})
		}, map[string]int{"Paused": 1}),
		Entry("its host", func(u *infrav1.ElementalHostUpgrade) {
			at("Reboot")(u)
			u.Status.Phase = infrav1.UpgradeHostLost
		}, map[string]int{"HostLost": 1}),
		Entry("nothing any more", func(u *infrav1.ElementalHostUpgrade) { u.Status.Phase = infrav1.UpgradeRolledBack }, map[string]int{}),
	)

	It("know all reasons beforehand", func(ctx SpecContext) {
		gauge := hostupgrade.Gauges()[0]
		Expect(gauge.Values).To(ContainElements("Pending", "Paused", "HostLost", "Quarantine", "FreeSpace", "Preflight", "Settle"))
		Expect(gauge.Values).To(HaveEach(MatchRegexp("^[A-Za-z]+$")), fmt.Sprint(gauge.Values))
	})
})

func at(step string) func(*infrav1.ElementalHostUpgrade) {
	return func(u *infrav1.ElementalHostUpgrade) {
		u.Status.Phase, u.Status.Step, u.Status.Message = infrav1.UpgradeProgressing, step, "waiting for something"
	}
}

func heldIn(ctx context.Context, namespace string) (map[string]int, error) {
	return hostupgrade.Gauges()[0].Count(ctx, client.NewNamespacedClient(live, namespace))
}
