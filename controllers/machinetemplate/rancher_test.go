// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var _ = Describe("A patched template, in a Cluster that Rancher has provisioned", Ordered, func() {
	const worker, etcd = "worker", "etcd"
	var (
		w       *world
		control *unstructured.Unstructured
	)
	BeforeAll(func() {
		_, err := envtest.InstallCRDs(plane.Config, envtest.CRDInstallOptions{Paths: []string{filepath.Join(specs.Root(), "test", "lab", "rancher", "crds.yaml")}})
		Expect(err).NotTo(HaveOccurred())
	})
	// list the hooks in the drain options of tiers.
	list := func(tiers ...string) {
		GinkgoHelper()
		strategy := map[string]any{}
		for _, tier := range tiers {
			strategy[tier+"DrainOptions"] = map[string]any{
				"preDrainHooks":  []any{map[string]any{"annotation": infrav1.RancherPreDrainAnnotation}},
				"postDrainHooks": []any{map[string]any{"annotation": infrav1.RancherPostDrainAnnotation}},
			}
		}
		apiserver.Change(ctx, c, control, func() { control.Object["spec"] = map[string]any{"upgradeStrategy": strategy} })
	}
	upgraded := func() (machines []string) {
		GinkgoHelper()
		for _, attempt := range w.attempts() {
			Expect(attempt.Spec.Driver).To(Equal(infrav1.DriverRancherDrain))
			machines = append(machines, attempt.Spec.MachineName)
		}
		return machines
	}
	BeforeEach(func() {
		w = newWorld()
		apiserver.Change(ctx, c, w.cluster, func() {
			w.cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: rancher.Group, Kind: rancher.ControlPlaneKind, Name: "c"}
		})
		control = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": rancher.Group + "/v1", "kind": rancher.ControlPlaneKind, "metadata": map[string]any{"namespace": w.namespace, "name": "c"},
		}}
		Expect(c.Create(ctx, control)).To(Succeed())
		for _, name := range []string{worker, etcd} {
			of := ownertest.Machine(w.set, name)
			if name == etcd {
				of.Labels["rke.cattle.io/etcd-role"] = "true"
			}
			w.addServed(of, "t", imageA)
		}
		w.reconcile()
		w.patch(imageB)
	})

	It("has attempts on the Machines of the tiers whose drain options have both hooks", func() {
		w.reconcile()
		Expect(upgraded()).To(BeEmpty())
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.DrainHooksMissingReason)
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(And(ContainSubstring("controlPlaneDrainOptions.preDrainHooks: "), ContainSubstring("workerDrainOptions.postDrainHooks: ")))

		list("worker")
		w.reconcile()
		Expect(upgraded()).To(ConsistOf(worker))
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(And(ContainSubstring("controlPlaneDrainOptions.preDrainHooks: "), Not(ContainSubstring("workerDrainOptions")),
			ContainSubstring("1 Machines are upgraded when Rancher drains their Nodes")))

		list("worker", "controlPlane")
		w.reconcile()
		Expect(upgraded()).To(ConsistOf(worker, etcd))
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.WaitingForRancherReason)
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(ContainSubstring("2 Machines are upgraded when Rancher drains their Nodes"))
	})

	It("says that a user has removed the hooks, for which attempts wait", func() {
		list("worker", "controlPlane")
		w.reconcile()
		list("controlPlane")
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.DrainHooksMissingReason)
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(ContainSubstring("1 Machines are upgraded when Rancher drains their Nodes"))
	})

	It("says first which attempt has not succeeded, and that Rancher goes on without one that a user has cancelled", func() {
		list("worker", "controlPlane")
		w.reconcile()
		failed := w.attemptOn(worker)
		w.end(failed, infrav1.UpgradeRolledBack)
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.AttemptNotSucceededReason)
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(And(ContainSubstring("Rancher waits in its drain of the Node"), ContainSubstring("set spec.cancel"),
			ContainSubstring("1 Machines are upgraded when Rancher drains their Nodes")))
		apiserver.Change(ctx, c, failed, func() { failed.Spec.Cancel = true })
		w.reconcile()
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(And(ContainSubstring("Rancher goes on without it"), Not(ContainSubstring("set spec.cancel"))))
	})

	It("is stopped by one that has failed before its drain until a user gives it up, and by one of another driver as before", func() {
		elemental := w.addMachine("alone", nil)
		apiserver.Change(ctx, c, elemental, func() { owner.Note(elemental, "t", osversion.Hash(osversion.OfImage(imageA)), "") })
		list("worker", "controlPlane")
		w.reconcile()
		stoppedBy := func() string {
			GinkgoHelper()
			w.reconcile()
			return w.onlyRollout().Spec.StoppedBy
		}
		failed, alone := w.attemptOn(worker), w.attemptOn("alone")
		w.end(failed, infrav1.UpgradeFailed)
		Expect(stoppedBy()).To(Equal(failed.Name))
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(ContainSubstring("No other host fetches the image of this template in Cluster c, and Rancher waits"))
		w.end(alone, infrav1.UpgradeFailed)
		Expect(stoppedBy()).To(Equal(failed.Name))
		apiserver.Change(ctx, c, failed, func() { failed.Spec.Cancel = true })
		Expect(stoppedBy()).To(Equal(alone.Name))
		Expect(stoppedBy()).To(Equal(alone.Name))
	})

	It("counts no Machine whose node is out of service", func() {
		list("worker", "controlPlane")
		w.reconcile()
		attempt := w.attemptOn(worker)
		w.setStatus(attempt, func() {
			attempt.Status.Phase = infrav1.UpgradeProgressing
			attempt.Status.Steps = []infrav1.UpgradeStepStatus{{Name: attempts.StepCordon, StartTime: metav1.Now()}}
		})
		w.reconcile()
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(ContainSubstring("1 Machines are upgraded when Rancher drains their Nodes"))
	})

	It("keeps its reason while the RKEControlPlane cannot be read", func() {
		list("worker", "controlPlane")
		w.reconcile()
		w.reconciler.Live = unreadableKinds{w.reconciler.Live}
		_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
		Expect(err).To(MatchError(errUnreadable))
		apiserver.Get(ctx, c, w.template)
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.WaitingForRancherReason)
	})

	It("has one reason while the Cluster is paused", func() {
		list("worker", "controlPlane")
		w.reconcile()
		apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = ptr.To(true) })
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.WaitingForClusterReason)
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(Equal("Cluster c is paused"))
	})
})
