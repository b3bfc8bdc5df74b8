// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// lose leads an attempt to where its host is lost.
func lose(ctx context.Context, name string) *world {
	GinkgoHelper()
	s := scenarios[name]
	w := newWorld(ctx, s.options)
	s.prepare(ctx, w)
	s.play(ctx, w)
	Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeHostLost))
	return w
}

// deleteMachine leaves the Machine to its deletion, which something else holds up.
func (w *world) deleteMachine(ctx context.Context) {
	GinkgoHelper()
	change(ctx, w, w.host, &clusterv1.Machine{}, func(m *clusterv1.Machine) { m.Finalizers = []string{"test/held"} })
	DeferCleanup(func(ctx SpecContext) {
		change(ctx, w, w.host, &clusterv1.Machine{}, func(m *clusterv1.Machine) { m.Finalizers = nil })
	})
	Expect(live.Delete(ctx, &clusterv1.Machine{ObjectMeta: w.meta(w.host)})).To(Succeed())
}

// remediateMachine deletes the Machine as its owner does for its health check.
func (w *world) remediateMachine(ctx context.Context, reason string) {
	GinkgoHelper()
	machine := get(ctx, w, w.host, &clusterv1.Machine{})
	for _, of := range []string{clusterv1.MachineHealthCheckSucceededCondition, clusterv1.MachineOwnerRemediatedCondition} {
		conditions.Set(machine, metav1.Condition{Type: of, Status: metav1.ConditionFalse, Reason: reason})
	}
	Expect(live.Status().Update(ctx, machine)).To(Succeed())
	w.deleteMachine(ctx)
}

func (w *world) quarantined(ctx context.Context) []infrav1.QuarantinedImage {
	GinkgoHelper()
	return get(ctx, w, clusterName, &infrav1.ElementalCluster{}).Spec.Quarantine
}

var _ = Describe("A host that was lost", func() {
	var w *world

	BeforeEach(func(ctx SpecContext) { w = lose(ctx, "HostLost") })

	It("goes on when it comes back", func(ctx SpecContext) {
		w.agent.stopAt = infrav1.HostUpgradeAssessing
		w.agent.tick(ctx)
		w.rest(ctx)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeProgressing))
		w.agent.stopAt = ""
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	It("keeps its cordon but not its slot when a person releases it", func(ctx SpecContext) {
		before := w.marks(ctx)
		change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) { u.Spec.Release = true })
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(with(before, func(m *marks) { m.Slots = 0 })))
	})

	It("holds up neither its Machine's deletion nor the slot", func(ctx SpecContext) {
		w.deleteMachine(ctx)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(marks{
			Phase: infrav1.UpgradeAborted, OS: oldDigest, Pin: newDigest, Unschedulable: true, CordonedBy: "ours",
		}))
		Expect(w.quarantined(ctx)).To(BeEmpty(), "a user lets the rollout continue")
	})

	It("has its image not quarantined where its owner could not replace the Machine, and a user has deleted it", func(ctx SpecContext) {
		w.remediateMachine(ctx, clusterv1.MachineSetMachineCannotBeRemediatedReason)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeAborted))
		Expect(w.quarantined(ctx)).To(BeEmpty())
	})

	It("has its image quarantined where a health check has its Machine replaced, which would follow the rollout", func(ctx SpecContext) {
		w.remediateMachine(ctx, clusterv1.MachineSetMachineRemediationMachineDeletingReason)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeAborted))
		Expect(w.quarantined(ctx)).To(ConsistOf(And(
			HaveField("Digest", newDigest), HaveField("Host", w.host), HaveField("Reason", ContainSubstring("a MachineHealthCheck had Machine "+w.host+" replaced")))))
	})

	It("is not waited for by a deleted attempt that a person has released", func(ctx SpecContext) {
		Expect(live.Delete(ctx, &infrav1.ElementalHostUpgrade{ObjectMeta: w.meta(w.upgrade)})).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.marks(ctx).Gone).To(BeFalse(), "it may be in the middle of its upgrade")
		change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) { u.Spec.Release = true })
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(marks{Gone: true, OS: oldDigest, Pin: newDigest}))
	})
})

var _ = Describe("A controller that was away for longer than a reboot may take", func() {
	const late, hearing = 31 * time.Minute, 2 * time.Minute
	It("gives the host the time to report before it takes it for lost", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.agent.stopAt = infrav1.HostUpgradeRebooting
		w.drive(ctx, nil)
		w.clock.SetTime(w.clock.Now().Add(late))
		w.restart()
		w.reconciler.Started = w.clock.Now()
		w.rest(ctx)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeProgressing))
		Expect(w.marks(ctx).SkipRemediation).To(BeTrue())

		w.clock.SetTime(w.clock.Now().Add(hearing))
		w.rest(ctx)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeHostLost))
		Expect(w.marks(ctx).SkipRemediation).To(BeFalse())
	})

	It("leaves a host lost that was so before", func(ctx SpecContext) {
		w := lose(ctx, "HostLost")
		counted := ends()
		w.restart()
		w.reconciler.Started = w.clock.Now()
		w.rest(ctx)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeHostLost))
		Expect(since(counted, ends())).To(BeEmpty(), "it is counted once")
	})
})

var _ = Describe("A host that was lost while it assessed its boot", func() {
	var w *world

	BeforeEach(func(ctx SpecContext) { w = lose(ctx, "HostLost while it assesses its boot") })

	It("goes on when it answers", func(ctx SpecContext) {
		w.agent.stopAt = ""
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	It("is reported when it goes back to its former OS after all", func(ctx SpecContext) {
		w.agent.stopAt, w.agent.fallsBack = "", true
		w.drive(ctx, nil)
		Expect(w.marks(ctx).Phase).To(Equal(infrav1.UpgradeRolledBack))
	})

	It("gives its slot back when a person releases it", func(ctx SpecContext) {
		change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) { u.Spec.Release = true })
		w.drive(ctx, nil)
		Expect(w.marks(ctx).Slots).To(BeZero())
	})

	It("does not keep the slot of a Machine that is deleted", func(ctx SpecContext) {
		w.deleteMachine(ctx)
		w.drive(ctx, nil)
		Expect(w.marks(ctx).Phase).To(Equal(infrav1.UpgradeAborted))
		Expect(w.marks(ctx).Slots).To(BeZero())
	})
})

var _ = It("A host that dies while it assesses its boot does not keep the slot of a Machine that was deleted before", func(ctx SpecContext) {
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	w.agent.stopAt = infrav1.HostUpgradeRebooting
	w.drive(ctx, nil)
	w.deleteMachine(ctx)
	w.agent.stopAt = infrav1.HostUpgradeAssessing
	w.drive(ctx, nil)
	Expect(w.marks(ctx).Slots).To(Equal(1))
	w.clock.SetTime(w.clock.Now().Add(45 * time.Minute))
	w.drive(ctx, nil)
	Expect(w.marks(ctx).Phase).To(Equal(infrav1.UpgradeAborted))
	Expect(w.marks(ctx).Slots).To(BeZero())
})

var _ = Describe("The Machine of a host that dies is left to its health checks", func() {
	const timeout = 30 * time.Minute

	It("when the attempt is withdrawn and nobody confirms it", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		sleep(ctx, w)
		w.drive(ctx, func() bool { return w.status(ctx).Message == w.inWords(waitsForAgent) })
		w.agent.silent = true
		wantOther(ctx, w)
		w.rest(ctx)
		Expect(w.status(ctx).Message).To(HavePrefix(w.inWords("waiting for the elemental-agent of ElementalHost HOST to confirm that it has not started")))
		Expect(w.marks(ctx).SkipRemediation).To(BeTrue())

		w.clock.SetTime(w.clock.Now().Add(timeout))
		w.rest(ctx)
		Expect(w.status(ctx).Message).To(HavePrefix(w.inWords("ElementalHost HOST has not confirmed within 30m0s that it has not started: " +
			"look at its console, delete Machine HOST, or set spec.release")))
		Expect(w.marks(ctx).SkipRemediation).To(BeFalse())

		w.agent.silent = false
		w.drive(ctx, nil)
		Expect(w.marks(ctx).Phase).To(Equal(infrav1.UpgradeSuperseded))
	})

	It("when its kubelet falls silent after the boot, and has the image quarantined where a health check has the Machine replaced", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.agent.down = true
		w.drive(ctx, func() bool { return hoststate.Ended(w.agent.marker.Phase) })
		setNode(ctx, w.host, get(ctx, w, w.host, &infrav1.ElementalHost{}).Status.OS.BootID, corev1.ConditionUnknown, w.clock.Now())
		w.rest(ctx)
		w.clock.SetTime(w.clock.Now().Add(timeout))
		w.rest(ctx)
		w.remediateMachine(ctx, clusterv1.MachineSetMachineRemediationMachineDeletingReason)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeAborted))
		Expect(w.quarantined(ctx)).To(ConsistOf(HaveField("Digest", newDigest)))
	})

	DescribeTable("when its kubelet falls silent after the boot", func(ctx SpecContext, prepare func(context.Context, *world), waits string, end infrav1.UpgradePhase) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		prepare(ctx, w)
		w.agent.down = true
		w.drive(ctx, func() bool { return hoststate.Ended(w.agent.marker.Phase) })
		setNode(ctx, w.host, get(ctx, w, w.host, &infrav1.ElementalHost{}).Status.OS.BootID, corev1.ConditionUnknown, w.clock.Now())
		w.rest(ctx)
		Expect(w.status(ctx).Message).To(HavePrefix(w.inWords(waits)))
		Expect(w.marks(ctx).SkipRemediation).To(BeTrue())

		w.clock.SetTime(w.clock.Now().Add(timeout))
		w.rest(ctx)
		Expect(w.status(ctx).Message).To(ContainSubstring(w.inWords("; its kubelet has not answered for 30m0s: look at the console of ElementalHost HOST, or delete Machine HOST")))
		Expect(w.marks(ctx).SkipRemediation).To(BeFalse())

		setNode(ctx, w.host, get(ctx, w, w.host, &infrav1.ElementalHost{}).Status.OS.BootID, corev1.ConditionTrue, w.clock.Now())
		w.drive(ctx, nil)
		Expect(w.marks(ctx).Phase).To(Equal(end))
	},
		Entry("of the new OS", func(context.Context, *world) {}, "waiting for Node HOST to be Ready", infrav1.UpgradeSucceeded),
		Entry("of the former OS", fallBack, "waiting for Node HOST to be Ready", infrav1.UpgradeRolledBack),
	)

	It("but not while its kubelet answers that the node is not Ready", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.agent.down = true
		w.drive(ctx, nil)
		setNode(ctx, w.host, get(ctx, w, w.host, &infrav1.ElementalHost{}).Status.OS.BootID, corev1.ConditionFalse, w.clock.Now())
		w.clock.SetTime(w.clock.Now().Add(2 * timeout))
		w.rest(ctx)
		Expect(w.marks(ctx).SkipRemediation).To(BeTrue())
	})
})
