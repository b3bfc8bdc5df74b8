// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
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
		w.attempt(ctx, host.Name, infrav1.UpgradeProgressing, osversion.OfImage("oci://os:v1"))
		attempt = &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "u1"}}
		owner = &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "m1"}}
		_, err := server.Stored(ctx, attempt)()
		Expect(err).NotTo(HaveOccurred())
	})
	disrupt := func(ctx SpecContext, is metav1.ConditionStatus) {
		GinkgoHelper()
		apiserver.ChangeStatus(ctx, server.Client, attempt, func() {
			conditions.Set(attempt, metav1.Condition{Type: infrav1.UpgradeDisruptingCondition, Status: is, Reason: "R", Message: "Node n1 is out of service"})
		})
	}
	protect := func(ctx SpecContext) {
		GinkgoHelper()
		apiserver.Change(ctx, server.Client, owner, func() {
			owner.Annotations = map[string]string{
				clusterv1.MachineSkipRemediationAnnotation: "", infrav1.SkipRemediationByAnnotation: "u1/" + string(attempt.UID)[:8],
			}
		})
	}
	ready := func() OmegaMatcher {
		return apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason)
	}
	unready := func(reason string) OmegaMatcher {
		return apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionFalse, reason)
	}

	// mirror does what Cluster API does with condition Ready of the ElementalMachine.
	mirror := func(ctx SpecContext) {
		GinkgoHelper()
		_, err := server.Stored(ctx, machine)()
		Expect(err).NotTo(HaveOccurred())
		apiserver.ChangeStatus(ctx, server.Client, owner, func() {
			mirrored := *conditions.Get(machine, clusterv1.ReadyCondition)
			mirrored.Type = clusterv1.MachineInfrastructureReadyCondition
			conditions.Set(owner, mirrored)
		})
	}
	isProtected := HaveField("Annotations", HaveKey(clusterv1.MachineSkipRemediationAnnotation))

	It("is not Ready, for that reason, until the attempt has ended the disruption, and its Machine is protected until it shows that", func(ctx SpecContext) {
		protect(ctx)
		disrupt(ctx, metav1.ConditionTrue)
		Eventually(server.Stored(ctx, machine)).Should(unready(infrav1.UpgradingReason))
		Expect(conditions.GetMessage(machine, clusterv1.ReadyCondition)).To(ContainSubstring("Node n1 is out of service, for ElementalHostUpgrade u1"))
		mirror(ctx)
		disrupt(ctx, metav1.ConditionFalse)
		Eventually(server.Stored(ctx, machine)).Should(ready())
		Consistently(server.Stored(ctx, owner)).Should(isProtected)
		mirror(ctx)
		Eventually(server.Stored(ctx, owner)).ShouldNot(isProtected)
		Expect(owner.Annotations).NotTo(HaveKey(infrav1.SkipRemediationByAnnotation))
	})

	It("is Ready until the attempt keeps its Machine from health checks", func(ctx SpecContext) {
		apiserver.Change(ctx, server.Client, owner, func() { owner.Annotations = map[string]string{clusterv1.MachineSkipRemediationAnnotation: "of a user"} })
		disrupt(ctx, metav1.ConditionTrue)
		Consistently(server.Stored(ctx, machine)).Should(ready())
		protect(ctx)
		Eventually(server.Stored(ctx, machine)).Should(unready(infrav1.UpgradingReason))
		mirror(ctx)

		By("the host is lost, and its Machine is left to its health checks at once")
		apiserver.ChangeStatus(ctx, server.Client, attempt, func() { attempt.Status.Phase = infrav1.UpgradeHostLost })
		Eventually(server.Stored(ctx, machine)).Should(unready(infrav1.HostLostReason))
		Eventually(server.Stored(ctx, owner)).ShouldNot(isProtected)

		By("an attempt that has ended disrupts nothing")
		apiserver.ChangeStatus(ctx, server.Client, attempt, func() { attempt.Status.Phase = infrav1.UpgradeAborted })
		Eventually(server.Stored(ctx, machine)).Should(ready())
	})

	It("keeps its Machine protected while the attempt has not said yet that it disrupts the node", func(ctx SpecContext) {
		protect(ctx)
		Consistently(server.Stored(ctx, owner)).Should(isProtected)
		disrupt(ctx, metav1.ConditionUnknown)
		Consistently(server.Stored(ctx, owner)).Should(isProtected)
	})

	It("keeps its Machine protected until the attempt for the next image takes over, where its Node is not Ready with the one that is replaced", func(ctx SpecContext) {
		protect(ctx)
		nodeIs := func(status metav1.ConditionStatus) {
			GinkgoHelper()
			apiserver.ChangeStatus(ctx, server.Client, owner, func() {
				conditions.Set(owner, metav1.Condition{Type: clusterv1.MachineNodeReadyCondition, Status: status, Reason: clusterv1.MachineNodeNotReadyReason})
			})
		}
		nodeIs(metav1.ConditionFalse)
		apiserver.Change(ctx, server.Client, machine, func() { machine.Annotations[infrav1.RolloutAnnotation] = "next" })
		apiserver.ChangeStatus(ctx, server.Client, attempt, func() {
			attempt.Status.Phase = infrav1.UpgradeSuperseded
			attempt.Status.Steps = []infrav1.UpgradeStepStatus{{Name: "Reboot", StartTime: metav1.Now()}, {Name: "Assess", StartTime: metav1.Now()}}
			attempt.Status.CompletionTime = new(metav1.NewTime(clock.Now()))
		})
		Consistently(server.Stored(ctx, owner)).Should(isProtected)

		By("its kubelet does not answer any more")
		nodeIs(metav1.ConditionUnknown)
		Eventually(server.Stored(ctx, owner)).ShouldNot(isProtected)

		By("no attempt has taken over in the time of a reboot")
		nodeIs(metav1.ConditionFalse)
		protect(ctx)
		Consistently(server.Stored(ctx, owner)).Should(isProtected)
		clock.SetTime(clock.Now().Add(31 * time.Minute))
		Expect(annotate(ctx, machine, "test.example.com/touched")).To(Succeed())
		Eventually(server.Stored(ctx, owner)).ShouldNot(isProtected)
	})

	It("is Ready again, and its Machine released, when the attempt is removed by force", func(ctx SpecContext) {
		protect(ctx)
		disrupt(ctx, metav1.ConditionTrue)
		Eventually(server.Stored(ctx, machine)).Should(unready(infrav1.UpgradingReason))
		Expect(server.Client.Delete(ctx, attempt)).To(Succeed())
		Eventually(server.Stored(ctx, machine)).Should(ready())
		Eventually(server.Stored(ctx, owner)).ShouldNot(isProtected)
	})
})
