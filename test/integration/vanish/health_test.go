// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vanish_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// unhealthyAfter is the timeout of the MachineHealthCheck, in seconds; booting is how long the host is down.
	unhealthyAfter = 5
	booting        = 15
)

var _ = Describe("A MachineHealthCheck", func() {
	It("does not remediate a host that reboots for its upgrade, and remediates one that is dead", func(ctx SpecContext) {
		before := identities(ctx, small)
		checkHealth(ctx, small)
		u := start(ctx, small, atHost(infrav1.HostUpgradeRebooting, image.OS{BootSeconds: booting}))
		Expect(theMachine(ctx, small).Annotations).To(HaveKey(clusterv1.MachineSkipRemediationAnnotation))
		u.goOn()
		Eventually(u.ready).WithContext(ctx).ShouldNot(Equal(corev1.ConditionTrue), "the node is seen to be down")
		u.expectSucceeded(ctx)
		Expect(identities(ctx, small)).To(Equal(before), "the Machine was not remediated")

		By("killing the host for good")
		Expect(u.host.PowerOff(ctx)).To(Succeed())
		u.makeUnready(ctx)
		Eventually(u.Machines, 2*specs.Patience, look).WithContext(ctx).ShouldNot(ContainElement(HaveField("Name", u.attempt.Spec.MachineName)))
		Expect(small.AwaitWorkers(ctx)).To(Succeed())

		By("powering it on again")
		Expect(u.host.PowerOn(ctx)).To(Succeed())
		expectNoTraces(ctx, small)
		Expect(u.resets()).To(Equal(1))
	})
})

// checkHealth creates a MachineHealthCheck for the workers until the spec ends.
func checkHealth(ctx context.Context, cluster *scenario.Cluster) {
	GinkgoHelper()
	check := &clusterv1.MachineHealthCheck{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(), Name: "impatient"},
		Spec: clusterv1.MachineHealthCheckSpec{
			ClusterName: cluster.Options.Name,
			Selector:    metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.MachineDeploymentNameLabel: scenario.Deployment}},
			Checks: clusterv1.MachineHealthCheckChecks{
				// The replacement is upgraded to the image, which boots slowly, and bootstrapped before it has a
				// Node.
				NodeStartupTimeoutSeconds: ptr.To[int32](300),
				UnhealthyNodeConditions: []clusterv1.UnhealthyNodeCondition{
					{Type: corev1.NodeReady, Status: corev1.ConditionFalse, TimeoutSeconds: ptr.To[int32](unhealthyAfter)},
					{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, TimeoutSeconds: ptr.To[int32](unhealthyAfter)},
				},
			},
		},
	}
	Expect(theLab.Kube.Create(ctx, check)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(theLab.Kube.Delete(ctx, check)).To(Succeed()) })
	Eventually(func(ctx context.Context) (int32, error) {
		err := theLab.Kube.Get(ctx, client.ObjectKeyFromObject(check), check)
		return ptr.Deref(check.Status.CurrentHealthy, 0), err
	}).WithContext(ctx).Should(BeEquivalentTo(1), "it sees the worker")
}

func (u *upgrade) ready(ctx context.Context) (corev1.ConditionStatus, error) {
	node, err := u.node(ctx)
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status, err
		}
	}
	return "", err
}

// makeUnready sets the Node to not Ready, as the node lifecycle controller does 40 s after the last heartbeat of a
// kubelet.
func (u *upgrade) makeUnready(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(ctx context.Context) error {
		node, err := u.node(ctx)
		if err != nil {
			return err
		}
		for i := range node.Status.Conditions {
			if node.Status.Conditions[i].Type == corev1.NodeReady {
				node.Status.Conditions[i].Status = corev1.ConditionUnknown
				node.Status.Conditions[i].LastTransitionTime = metav1.Now()
			}
		}
		return u.WorkloadKube().Status().Update(ctx, node)
	}).WithContext(ctx).Should(Succeed())
}
