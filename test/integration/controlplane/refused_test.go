// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// forbid makes the management cluster reject an image for ElementalMachines, as a company policy could, and returns
// once it does.
func forbid(ctx context.Context, cluster *scenario.Cluster, uri string) (lift func(context.Context)) {
	GinkgoHelper()
	const message = "this image is not allowed here"
	kube := cluster.Lab.Kube
	lift = suite.Refuse(ctx, kube, "allowed-images", admissionv1.Update, infrav1.GroupVersion.WithResource("elementalmachines"), admissionv1.Validation{
		Expression: `object.spec.osVersionManagement.osVersion.imageUri != "` + uri + `"`, Message: message,
	})
	machines := &infrav1.ElementalMachineList{}
	Expect(kube.List(ctx, machines, client.InNamespace(cluster.Namespace()))).To(Succeed())
	Expect(machines.Items).NotTo(BeEmpty())
	Eventually(func() error {
		return kube.Patch(ctx, machines.Items[0].DeepCopy(), client.RawPatch("application/merge-patch+json",
			[]byte(`{"spec":{"osVersionManagement":{"osVersion":{"imageUri":"`+uri+`"}}}}`)), client.DryRunAll)
	}).Should(MatchError(ContainSubstring(message)))
	return lift
}

var _ = Describe("A KubeadmControlPlane whose Machines must not have the wanted OS", func() {
	// KubeadmControlPlane interprets a rejection as "cannot be updated in place", and deletes the Machine without
	// calling the hook.
	It("loses no Machine: it is not pointed to a clone before they may", func(ctx SpecContext) {
		workload, err := theLab.StartWorkload(ctx, "refused")
		Expect(err).NotTo(HaveOccurred())
		cluster := suite.NewCluster(ctx, theLab, scenario.Options{Name: "refused", Workload: workload, ControlPlane: 3})
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		wanted := suite.Push(ctx, cluster, image.OS{})
		lift := forbid(ctx, cluster, wanted.URI())

		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		Eventually(says).WithContext(ctx).WithArguments(cluster, infrav1.RolloutBlockedCondition).Should(And(
			HaveField("Status", "True"), HaveField("Reason", infrav1.UpdateRefusedReason),
			HaveField("Message", And(ContainSubstring("KubeadmControlPlane control-plane would delete Machine "), ContainSubstring("this image is not allowed here")))))
		Consistently(cluster.ControlPlaneReference, calm).WithContext(ctx).Should(Equal(scenario.ControlPlaneTemplate))
		Expect(cluster.Identities(ctx)).To(Equal(before))

		By("pointing it there by hand nevertheless")
		copied := &infrav1.ElementalMachineTemplate{}
		Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: scenario.ControlPlaneTemplate}, copied)).To(Succeed())
		copied.ObjectMeta = metav1.ObjectMeta{Namespace: cluster.Namespace(), Name: "by-hand"}
		Expect(theLab.Kube.Create(ctx, copied)).To(Succeed())
		Eventually(pointTo).WithContext(ctx).WithArguments(cluster, copied.Name).Should(MatchError(ContainSubstring("this image is not allowed here")))

		lift(ctx)
		Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
		Expect(cluster.Identities(ctx)).To(Equal(before))
	})
})
