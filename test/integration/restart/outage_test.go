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
