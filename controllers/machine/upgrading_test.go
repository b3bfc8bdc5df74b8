// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("An ElementalMachine whose Node is out of service", func() {
	var (
		w       *world
		machine *infrav1.ElementalMachine
		owner   *clusterv1.Machine
		attempt *infrav1.ElementalHostUpgrade
	)
	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		var host *infrav1.ElementalHost
		machine, host = w.running(ctx, "m1")
		w.attempt(ctx, host.Name, infrav1.UpgradeProgressing, image("oci://os:v1"))
		attempt = &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "u1"}}
		owner = &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "m1"}}
	})
	disrupt := func(ctx SpecContext, is metav1.ConditionStatus) {
		GinkgoHelper()
		apiserver.ChangeStatus(ctx, server.Client, attempt, func() {
			attempt.Status.NodeName = "n1"
			conditions.Set(attempt, metav1.Condition{Type: infrav1.UpgradeDisruptingCondition, Status: is, Reason: "R"})
		})
	}
	protect := func(ctx SpecContext) {
		GinkgoHelper()
		apiserver.Change(ctx, server.Client, owner, func() { owner.Annotations = map[string]string{clusterv1.MachineSkipRemediationAnnotation: ""} })
	}
	ready := func() OmegaMatcher {
		return apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason)
	}
	unready := func(reason string) OmegaMatcher {
		return apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionFalse, reason)
	}

	It("is not Ready, for that reason, until the attempt has ended the disruption", func(ctx SpecContext) {
		protect(ctx)
		disrupt(ctx, metav1.ConditionTrue)
		Eventually(server.Stored(ctx, machine)).Should(unready(infrav1.UpgradingReason))
		Expect(conditions.GetMessage(machine, clusterv1.ReadyCondition)).To(ContainSubstring("Node n1 is out of service for ElementalHostUpgrade u1"))
		disrupt(ctx, metav1.ConditionFalse)
		Eventually(server.Stored(ctx, machine)).Should(ready())
	})

	It("is Ready until its Machine is kept from its health checks", func(ctx SpecContext) {
		disrupt(ctx, metav1.ConditionTrue)
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionFalse, infrav1.UpgradeInProgressReason))
		Consistently(server.Stored(ctx, machine)).Should(ready())
		protect(ctx)
		Eventually(server.Stored(ctx, machine)).Should(unready(infrav1.UpgradingReason))

		By("the host is lost, and its Machine is left to its health checks")
		apiserver.Change(ctx, server.Client, owner, func() { owner.Annotations = nil })
		Consistently(server.Stored(ctx, machine)).Should(unready(infrav1.UpgradingReason))
		apiserver.ChangeStatus(ctx, server.Client, attempt, func() { attempt.Status.Phase = infrav1.UpgradeHostLost })
		Eventually(server.Stored(ctx, machine)).Should(unready(infrav1.HostLostReason))

		By("an attempt that has ended disrupts nothing")
		apiserver.ChangeStatus(ctx, server.Client, attempt, func() { attempt.Status.Phase = infrav1.UpgradeAborted })
		Eventually(server.Stored(ctx, machine)).Should(ready())
	})

	It("is Ready again when the attempt is removed by force", func(ctx SpecContext) {
		protect(ctx)
		disrupt(ctx, metav1.ConditionTrue)
		Eventually(server.Stored(ctx, machine)).Should(unready(infrav1.UpgradingReason))
		Expect(server.Client.Delete(ctx, attempt)).To(Succeed())
		Eventually(server.Stored(ctx, machine)).Should(ready())
	})
})
