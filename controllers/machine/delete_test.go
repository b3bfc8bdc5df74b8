// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("The deletion of an ElementalMachine", func() {
	var w *world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	It("asks the host to reset itself, and does not wait for that", func(ctx SpecContext) {
		machine, host := w.running(ctx, "m1")
		Expect(server.Client.Delete(ctx, machine)).To(Succeed())
		Eventually(gone(ctx, machine)).Should(BeTrue())
		Expect(server.Stored(ctx, host)()).To(SatisfyAll(
			HaveField("Labels", HaveKeyWithValue(infrav1.NeedsResetLabel, "true")),
			HaveField("Spec.BootstrapSecret", BeNil()),
			HaveField("Spec.MachineRef", Not(BeNil())),
		))

		By("a new machine of the same name, which does not get that host")
		owner := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "m1"}}
		Expect(server.Client.Delete(ctx, owner)).To(Succeed())
		next := w.machine(ctx, "m1")
		Eventually(server.Stored(ctx, next)).Should(apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionFalse, infrav1.MissingAvailableHostsReason))
		Consistently(server.Stored(ctx, next)).Should(HaveField("Spec.HostRef", BeNil()))
	})

	It("leaves a Machine that stays to its health checks", func(ctx SpecContext) {
		machine, _ := w.running(ctx, "m1")
		owner := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "m1"}}
		apiserver.Change(ctx, server.Client, owner, func() {
			owner.Annotations = map[string]string{clusterv1.MachineSkipRemediationAnnotation: "", infrav1.SkipRemediationByAnnotation: "u1/12345678", "kept": ""}
		})
		Expect(server.Client.Delete(ctx, machine)).To(Succeed())
		Eventually(gone(ctx, machine)).Should(BeTrue())
		Expect(server.Stored(ctx, owner)()).To(HaveField("Annotations", And(
			HaveKey("kept"), Not(HaveKey(clusterv1.MachineSkipRemediationAnnotation)), Not(HaveKey(infrav1.SkipRemediationByAnnotation)))))
	})

	It("completes when the host is gone", func(ctx SpecContext) {
		machine, host := w.running(ctx, "m1")
		apiserver.Change(ctx, server.Client, host, func() { host.Finalizers = nil })
		Expect(server.Client.Delete(ctx, host)).To(Succeed())
		Expect(server.Client.Delete(ctx, machine)).To(Succeed())
		Eventually(gone(ctx, machine)).Should(BeTrue())
	})

	It("completes when Machine and Cluster are gone", func(ctx SpecContext) {
		machine, host := w.running(ctx, "m1")
		Expect(server.Client.Delete(ctx, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "m1"}})).To(Succeed())
		Expect(server.Client.Delete(ctx, w.cluster)).To(Succeed())
		Expect(server.Client.Delete(ctx, machine)).To(Succeed())
		Eventually(gone(ctx, machine)).Should(BeTrue())
		Expect(server.Stored(ctx, host)()).To(HaveField("Labels", HaveKeyWithValue(infrav1.NeedsResetLabel, "true")))
	})

	It("waits for a host that is in the middle of an upgrade", func(ctx SpecContext) {
		machine, host := w.running(ctx, "m1")
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) {
			s.Upgrade = &infrav1.HostUpgradeStatus{Attempt: "a1", Phase: infrav1.HostUpgradeApplying}
		})
		Expect(server.Client.Delete(ctx, machine)).To(Succeed())
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.WaitingForHostIdleReason))
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.Upgrade.Phase = infrav1.HostUpgradeRebooting })
		Consistently(server.Stored(ctx, host)).Should(HaveField("Labels", Not(HaveKey(infrav1.NeedsResetLabel))))

		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.Upgrade.Phase = infrav1.HostUpgradeRolledBack })
		Eventually(gone(ctx, machine)).Should(BeTrue())
		Expect(server.Stored(ctx, host)()).To(HaveField("Labels", HaveKeyWithValue(infrav1.NeedsResetLabel, "true")))
	})

	It("does not wait for ever for a host that has not come back", func(ctx SpecContext) {
		machine, host := w.running(ctx, "m1")
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) {
			s.Upgrade = &infrav1.HostUpgradeStatus{Attempt: "a1", Phase: infrav1.HostUpgradeRebooting}
		})
		Expect(server.Client.Delete(ctx, machine)).To(Succeed())
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.WaitingForHostIdleReason))

		clock.SetTime(time.Now().Add(infrav1.DefaultRebootTimeout + time.Minute))
		// The machine itself may be gone by now.
		apiserver.Change(ctx, server.Client, host, func() { host.Labels["touched"] = "true" })
		Eventually(gone(ctx, machine)).Should(BeTrue())
		Expect(server.Stored(ctx, host)()).To(HaveField("Labels", HaveKeyWithValue(infrav1.NeedsResetLabel, "true")))
	})

	DescribeTable("waits as long, whatever the clock of the management cluster says", func(ctx SpecContext, ahead time.Duration) {
		clock.SetTime(time.Now().Add(-ahead))
		machine, host := w.running(ctx, "m1")
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) {
			s.Upgrade = &infrav1.HostUpgradeStatus{Attempt: "a1", Phase: infrav1.HostUpgradeRebooting}
		})
		Expect(server.Client.Delete(ctx, machine)).To(Succeed())
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.WaitingForHostIdleReason))
		first := clock.Now()
		clock.SetTime(first.Add(infrav1.DefaultRebootTimeout - time.Second))
		apiserver.Change(ctx, server.Client, host, func() { host.Labels["touched"] = "early" })
		rests(machine)
		Expect(gone(ctx, machine)()).To(BeFalse())
		clock.SetTime(first.Add(infrav1.DefaultRebootTimeout))
		apiserver.Change(ctx, server.Client, host, func() { host.Labels["touched"] = "late" })
		Eventually(gone(ctx, machine)).Should(BeTrue())
	},
		Entry("5 min behind", -5*time.Minute), Entry("8 h ahead", 8*time.Hour),
	)

	It("waits no longer for such a host than its cluster says, whose time-out may be cut short meanwhile", func(ctx SpecContext) {
		elemental := &infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.ns, Name: "c1", Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"},
		}}
		elemental.Spec.NodeUpgradeOption.Timeouts.RebootSeconds = new(int32(24 * 60 * 60))
		Expect(server.Client.Create(ctx, elemental)).To(Succeed())
		machine, host := w.running(ctx, "m1")
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) {
			s.Upgrade = &infrav1.HostUpgradeStatus{Attempt: "a1", Phase: infrav1.HostUpgradeRebooting}
		})
		Expect(server.Client.Delete(ctx, machine)).To(Succeed())
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.WaitingForHostIdleReason))

		clock.SetTime(time.Now().Add(5 * time.Minute))
		rests(machine)
		apiserver.Change(ctx, server.Client, elemental, func() { *elemental.Spec.NodeUpgradeOption.Timeouts.RebootSeconds = 60 })
		Eventually(gone(ctx, machine)).Should(BeTrue())
	})

	DescribeTable("does not wait again for a host that its attempt has waited for in vain",
		func(ctx SpecContext, phase infrav1.UpgradePhase, released bool) {
			machine, host := w.running(ctx, "m1")
			upgrade := &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "u1"}}
			upgrade.Spec = infrav1.ElementalHostUpgradeSpec{
				ClusterName: "c1", MachineName: "m1", ElementalMachineName: "m1", HostName: host.Name,
				ImageURI: "oci://os:v2", OSVersionManagement: osversion.OfImage("oci://os:v2"),
			}
			Expect(server.Client.Create(ctx, upgrade)).To(Succeed())
			apiserver.ChangeStatus(ctx, server.Client, upgrade, func() { upgrade.Status.Attempt, upgrade.Status.Phase = "u1/1", infrav1.UpgradeProgressing })
			w.report(ctx, host, func(s *infrav1.ElementalHostStatus) {
				s.Upgrade = &infrav1.HostUpgradeStatus{Attempt: "u1/1", Phase: infrav1.HostUpgradeRebooting}
			})
			Expect(server.Client.Delete(ctx, machine)).To(Succeed())
			Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.WaitingForHostIdleReason))

			apiserver.ChangeStatus(ctx, server.Client, upgrade, func() { upgrade.Status.Phase = phase })
			if released {
				Eventually(gone(ctx, machine)).Should(BeTrue())
				return
			}
			Consistently(gone(ctx, machine)).Should(BeFalse())
		},
		Entry("lost", infrav1.UpgradeHostLost, true),
		Entry("given up with its Machine", infrav1.UpgradeAborted, true),
		Entry("still waited for", infrav1.UpgradePending, false),
	)
})
