// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// components are the static Pods of a control plane.
var components = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

var _ = Describe("A control plane of one real node", Ordered, func() {
	var plane *alone

	BeforeAll(func(ctx SpecContext) { plane = newAlone(ctx) })

	It("is upgraded by a patched template, and comes back with its data", func(ctx SpecContext) {
		kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kept"}}
		Expect(plane.kube.Create(ctx, kept)).To(Succeed())
		good := setup.Push(ctx, "cp-v2", nil)
		Expect(plane.PatchControlPlaneImage(ctx, good)).To(Succeed())
		attempt, err := plane.AwaitEnd(ctx, good, infrav1.UpgradeSucceeded)
		Expect(err).NotTo(HaveOccurred())
		Expect(attempt.Spec.Driver).To(Equal(infrav1.DriverDirect))
		Expect(plane.AwaitRolledOut(ctx, scenario.ControlPlaneTemplate)).To(Succeed())
		Eventually(plane.available).WithContext(ctx).Should(BeTrue())

		Expect(plane.host.Boots.Load()).To(BeEquivalentTo(3), "installation, bootstrap, upgrade")
		node := &corev1.Node{}
		Expect(plane.kube.Get(ctx, client.ObjectKey{Name: attempt.Status.NodeName}, node)).To(Succeed())
		Expect(node.Status.NodeInfo.OSImage).To(Equal("cp-v2"))
		Expect(node.Spec.Unschedulable).To(BeFalse())
		Expect(plane.kube.Get(ctx, client.ObjectKeyFromObject(kept), kept)).To(Succeed())
		triggered := audit.Triggered(suite.Audit(theLab.Management))[plane.host.Name]
		Expect(triggered).To(HaveLen(1))
		for _, component := range components {
			Eventually(plane.started).WithContext(ctx).WithArguments(component, node.Name).Should(HaveField("Time", BeTemporally(">", triggered[0].From)), component)
		}
	})
})

// started is when the container of a static Pod was started.
func (a *alone) started(ctx context.Context, component, node string) (metav1.Time, error) {
	pod := &corev1.Pod{}
	err := a.kube.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: component + "-" + node}, pod)
	if err != nil || len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].State.Running == nil {
		return metav1.Time{}, err
	}
	return pod.Status.ContainerStatuses[0].State.Running.StartedAt, nil
}
