// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package restart_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// outage is how long an API server is down.
const outage = 10 * time.Second

var _ = Describe("An API server that is down", func() {
	It("of the management cluster, is not needed by a host that has begun", func(ctx SpecContext) {
		u := newUpgrade(ctx, image.OS{})
		goOn := u.startUntil(ctx, applying)
		theLab.Management.APIServer.Kill()
		goOn()
		expectAlive(theLab.Provider.Process.Exited())
		Eventually(u.reboots).Should(Equal(1))
		Expect(theLab.Management.RestartAPIServer(ctx)).To(Succeed())
		u.expectSucceeded(ctx)
		u.expectAttempts(ctx, infrav1.UpgradeSucceeded)
		expectMachineSetsSeen(ctx)
	})

	It("of the management cluster, is waited for with the trigger", func(ctx SpecContext) {
		u := newUpgrade(ctx, image.OS{})
		release := u.startUntil(ctx, draining)
		theLab.Management.APIServer.Kill()
		release()
		expectAlive(theLab.Provider.Process.Exited())
		u.expectUntouched()
		Expect(theLab.Management.RestartAPIServer(ctx)).To(Succeed())
		u.expectSucceeded(ctx)
		u.expectAttempts(ctx, infrav1.UpgradeSucceeded)
		expectMachineSetsSeen(ctx)
	})

	It("of the workload cluster, is waited for in the drain", func(ctx SpecContext) {
		u := newUpgrade(ctx, image.OS{})
		release := u.startUntil(ctx, draining)
		theLab.Workload.APIServer.Kill()
		Eventually(u.attempt).WithContext(ctx).Should(HaveField("Status.Message",
			ContainSubstring("cannot reach workload cluster demo: ")))
		expectAlive(theLab.Provider.Process.Exited())
		Expect(theLab.Workload.RestartAPIServer(ctx)).To(Succeed())
		Eventually(u.attempt).WithContext(ctx).Should(HaveField("Status.Step", "Drain"))
		u.expectUntouched()
		release()
		u.expectSucceeded(ctx)
		u.expectAttempts(ctx, infrav1.UpgradeSucceeded)
	})
})

// expectAlive waits until the end of the outage, and expects that the process has not exited.
func expectAlive(exited <-chan struct{}) {
	GinkgoHelper()
	Consistently(exited, outage, time.Second).ShouldNot(BeClosed(), "the manager lives on")
}

// holdDrain keeps Pods from being evicted until the returned function is called.
func holdDrain(ctx context.Context) (release func()) {
	GinkgoHelper()
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "all-of-web"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromString("100%")), Selector: suite.Web(webPods).Spec.Selector,
		},
	}
	Expect(cluster.AwaitWeb(ctx)).To(Succeed())
	Expect(theLab.WorkloadKube.Create(ctx, budget)).To(Succeed())
	Eventually(func(ctx context.Context) (int32, error) {
		err := theLab.WorkloadKube.Get(ctx, client.ObjectKeyFromObject(budget), budget)
		return budget.Status.ExpectedPods, err
	}).WithContext(ctx).Should(BeEquivalentTo(2), "the budget counts")
	release = func() {
		GinkgoHelper()
		Expect(client.IgnoreNotFound(theLab.WorkloadKube.Delete(context.Background(), budget))).To(Succeed())
	}
	DeferCleanup(release)
	return release
}

// expectMachineSetsSeen waits after an outage of the management cluster, before the next spec patches the template,
// until Cluster API's watch of MachineSets works again. Its watches are reestablished one by one, some after more than
// a minute; while that of MachineSets is missing, each reconciliation of a MachineDeployment with a patched template
// creates another MachineSet, and the Machine is deleted with all of them but one.
func expectMachineSetsSeen(ctx context.Context) {
	GinkgoHelper()
	set := currentMachineSet(ctx)
	before := set.DeepCopy()
	set.Spec.Deletion.Order = clusterv1.NewestMachineSetDeletionOrder // has no effect with one Machine
	Expect(theLab.Kube.Patch(ctx, set, client.MergeFrom(before))).To(Succeed())
	Expect(set.Generation).To(BeNumerically(">", before.Generation))
	Eventually(func(ctx context.Context) (int64, error) {
		seen := &clusterv1.MachineSet{}
		err := theLab.Kube.Get(ctx, client.ObjectKeyFromObject(set), seen)
		return seen.Status.ObservedGeneration, err
	}).WithContext(ctx).Should(BeNumerically(">=", set.Generation), "Cluster API sees MachineSets again")
}

// currentMachineSet is the one that has the Machine.
func currentMachineSet(ctx context.Context) *clusterv1.MachineSet {
	GinkgoHelper()
	sets := &clusterv1.MachineSetList{}
	Expect(theLab.Kube.List(ctx, sets, client.InNamespace(cluster.Namespace()))).To(Succeed())
	for i := range sets.Items {
		if ptr.Deref(sets.Items[i].Status.Replicas, 0) > 0 {
			return &sets.Items[i]
		}
	}
	Fail("no MachineSet has a Machine")
	return nil
}
