// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rke2"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("An RKE2ControlPlane of three", Serial, func() {
	var (
		w     *world
		of    *rke2.ControlPlane
		gates *appsv1.Deployment
	)
	gate := func(value string) {
		GinkgoHelper()
		apiserver.Change(ctx, c, gates, func() {
			gates.Spec.Template.Spec.Containers[0].Args = []string{"--feature-gates=InPlaceUpdates=" + value}
		})
		w.reconciler.Owners = &owner.Owners{Client: w.reconciler.Owners.Client, Live: c, Clock: clock.RealClock{}} // which knew the former for a moment
	}
	begin := func(value string) {
		GinkgoHelper()
		allowInPlaceUpdates()
		gates = deployment("rke2", "control-plane-rke2", "--feature-gates=InPlaceUpdates="+value)
		plane.Create(ctx, gates)
		w = newWorld()
		Expect(c.Delete(ctx, w.md)).To(Succeed())
		Expect(c.DeleteAllOf(ctx, &infrav1.ElementalMachine{}, client.InNamespace(w.namespace))).To(Succeed())
		of = ownertest.RKE2ControlPlane(w.namespace, "rcp", "c", "t")
		plane.Create(ctx, of)
		ownertest.Observe(ctx, c, of, 3)
		for _, name := range []string{"r1", "r2", "r3"} {
			w.addMachine(name, metav1.NewControllerRef(of, rke2.GroupVersion.WithKind(rke2.ControlPlaneKind)))
			machine := apiserver.Get(ctx, c, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}})
			machine.Status.NodeRef.Name = name
			for _, condition := range []string{rke2.AgentHealthyCondition, rke2.EtcdMemberHealthyCondition, clusterv1.MachineUpToDateCondition} {
				machine.Status.Conditions = append(machine.Status.Conditions,
					metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.Now()})
			}
			Expect(c.Status().Update(ctx, machine)).To(Succeed())
		}
		w.reconcileTemplate()
	}
	refersTo := func() string { return apiserver.Get(ctx, c, of).Spec.MachineTemplate.Spec.InfrastructureRef.Name }
	driver := func() infrav1.UpgradeDriver {
		GinkgoHelper()
		Expect(w.template.Status.Owners).To(HaveExactElements(HaveField("Owner", "RKE2ControlPlane rcp")))
		return w.template.Status.Owners[0].Driver
	}
	rolledOutByDirect := func() {
		GinkgoHelper()
		w.patch(imageB)
		for range 3 {
			w.reconcileTemplate()
			for _, attempt := range w.attempts() {
				w.end(&attempt, infrav1.UpgradeSucceeded)
				w.runs(attempt.Spec.MachineName, imageB)
			}
		}
		w.reconcileTemplate()
		w.haveCondition(infrav1.RolledOutCondition, metav1.ConditionTrue, infrav1.RolledOutReason)
	}

	It("is pointed to a clone where its provider has the gate", func() {
		begin("true")
		Expect(driver()).To(Equal(infrav1.DriverClusterAPI))
		w.patch(imageB)
		w.reconcileTemplate()
		Expect(refersTo()).To(HavePrefix("t-"))
		Expect(w.attempts()).To(BeEmpty())
	})

	It("stays with driver Direct until its rollout has ended when the gate comes on, and with one that was cancelled", func() {
		begin("false")
		Expect(driver()).To(Equal(infrav1.DriverDirect))
		w.patch(imageB)
		w.reconcileTemplate()
		w.end(w.onlyAttempt(), infrav1.UpgradeAborted)
		gate("true")
		w.reconcileTemplate()
		Expect(driver()).To(Equal(infrav1.DriverDirect))
		Expect(refersTo()).To(Equal("t"))
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.AttemptNotSucceededReason)
	})

	It("goes over to Cluster API after its rollout, and begins nothing although a Machine differs", func() {
		begin("false")
		rolledOutByDirect()
		differs := w.elemental("r2")
		apiserver.Change(ctx, c, differs, func() { differs.Spec.OSVersionManagement = ownertest.OS(imageC) })
		w.runs("r2", imageC)
		gate("true")
		for range 3 {
			w.reconcileTemplate()
		}
		Expect(driver()).To(Equal(infrav1.DriverClusterAPI))
		Expect(refersTo()).To(Equal("t"))

		w.patch(imageA)
		w.reconcileTemplate()
		Expect(refersTo()).To(HavePrefix("t-"), "a later change is rolled out")
	})

	It("stays with Cluster API in the middle of a rollout when the gate goes, and says what has its Machines replaced", func() {
		begin("true")
		w.patch(imageB)
		w.reconcileTemplate()
		done := w.elemental("r1")
		clone := refersTo()
		apiserver.Change(ctx, c, done, func() {
			done.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = clone
			done.Spec.OSVersionManagement = ownertest.OS(imageB)
		})
		w.runs("r1", imageB)
		for _, behind := range []string{"r2", "r3"} {
			w.machineSays(behind, clusterv1.MachineUpToDateCondition)
		}
		gate("false")
		w.reconcileTemplate()
		Expect(driver()).To(Equal(infrav1.DriverClusterAPI))
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.FeatureGatesOffReason)
		Expect(w.elemental("r2").Annotations).NotTo(HaveKey(infrav1.DirectTemplateAnnotation))
	})
})
