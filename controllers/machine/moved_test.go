// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"math/rand/v2"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// Serial, because there is one clock.
var _ = Describe("Machines that are moved to another management cluster", Serial, func() {
	It("are not updated because of that, whatever comes first, while their hosts are silent and once they are not", func(ctx SpecContext) {
		p := newMovedPool(ctx)
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0))
		conditionsBefore, orderBefore := must(p.conditions(ctx)()), p.order(ctx)
		Expect(conditionsBefore[p.machines[p.drifted].Name]).To(And(
			HaveKeyWithValue(clusterv1.ReadyCondition, HavePrefix("True/")),
			HaveKeyWithValue(infrav1.OSUpToDateCondition, HavePrefix("False/"+infrav1.HostRunsOtherOSReason)),
			HaveKeyWithValue(infrav1.OSDriftedCondition, HavePrefix("True/"+infrav1.HostRunsOtherOSReason))))

		p.pause(ctx, true)
		Eventually(p.conditions(ctx)).WithPolling(apiserver.Settling).Should(HaveEach(HaveKeyWithValue(clusterv1.PausedCondition, HavePrefix("True/"))))
		moved := p.take(ctx)
		Expect(moved).To(HaveLen(5 + 5*movedHosts))
		seen := p.watch(ctx)
		p.bring(ctx, moved, random)
		Expect(p.order(ctx)).To(Equal(orderBefore))
		p.pause(ctx, false)

		By("two minutes in which no host is heard of")
		for step := range 4 {
			if step == 1 { // Cluster API has looked at the Cluster
				apiserver.ChangeStatus(ctx, server.Client, p.cluster, func() {
					p.cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
					p.cluster.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
				})
			}
			if step == 2 { // an attempt that has ended waits for no host
				p.lookAtAttempts(ctx, random, func(machine int) bool { return machine != p.drifted && machine%2 == 0 })
			}
			p.pass(ctx, time.Duration(step+1)*30*time.Second)
			Expect(p.conditions(ctx)()).To(And(HaveLen(movedHosts), HaveEach(And(
				HaveKeyWithValue(clusterv1.ReadyCondition, HavePrefix("True/")),
				HaveKeyWithValue(infrav1.OSUpToDateCondition, HavePrefix("Unknown/"+infrav1.HostOSUnknownReason)),
				HaveKeyWithValue(infrav1.OSDriftedCondition, HavePrefix("Unknown/"+infrav1.HostOSUnknownReason))))))
			Expect(p.order(ctx)).To(Equal(orderBefore))
		}
		Expect(seen.violations()).To(BeEmpty())

		By("the hosts have reached the new endpoint, some before their attempts are looked at")
		for _, i := range random.Perm(movedHosts) {
			p.reports(ctx, i)
		}
		Eventually(p.conditions(ctx)).WithPolling(apiserver.Settling).Should(Equal(conditionsBefore))
		p.lookAtAttempts(ctx, random, func(int) bool { return true })
		p.pass(ctx, 3*time.Minute)
		Expect(p.conditions(ctx)()).To(Equal(conditionsBefore))
		Expect(p.order(ctx)).To(Equal(orderBefore))
		Expect(p.attempts(ctx)).To(HaveEach(WithTransform(func(attempt *infrav1.ElementalHostUpgrade) string {
			return attempt.Status.Attempt + " " + string(attempt.Status.Phase)
		}, BeElementOf(p.ends()))))
		Eventually(seen.missed(ctx, p)).Should(BeEmpty())
		Expect(seen.violations()).To(BeEmpty())
	})
})

// pause pauses the Cluster, or lets it go on, as "clusterctl move" does.
func (p *movedPool) pause(ctx SpecContext, paused bool) {
	GinkgoHelper()
	apiserver.Change(ctx, server.Client, p.cluster, func() { p.cluster.Spec.Paused = &paused })
}

// pass lets the controller look at each machine after at least that time since the move.
func (p *movedPool) pass(ctx SpecContext, since time.Duration) {
	GinkgoHelper()
	clock.SetTime(time.Now().Add(since))
	for _, machine := range p.machines {
		before := reconcilesOf(machine)
		Expect(annotate(ctx, machine, "test.example.com/since-"+since.String())).To(Succeed())
		Eventually(func() int64 { return reconcilesOf(machine) }).Should(BeNumerically(">", before))
	}
	total := func() (sum int64) {
		for _, machine := range p.machines {
			sum += reconcilesOf(machine)
		}
		return sum
	}
	last := int64(-1)
	Eventually(func() bool {
		now := total()
		defer func() { last = now }()
		return now == last
	}).WithPolling(apiserver.Settling).Should(BeTrue())
}
