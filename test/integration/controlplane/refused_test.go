// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
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
		Expression: `object.spec.osVersionManagement.osVersion.imageURI != "` + uri + `"`, Message: message,
	})
	machines := &infrav1.ElementalMachineList{}
	Expect(kube.List(ctx, machines, client.InNamespace(cluster.Namespace()))).To(Succeed())
	Expect(machines.Items).NotTo(BeEmpty())
	Eventually(func() error {
		return kube.Patch(ctx, machines.Items[0].DeepCopy(), client.RawPatch("application/merge-patch+json",
			[]byte(`{"spec":{"osVersionManagement":{"osVersion":{"imageURI":"`+uri+`"}}}}`)), client.DryRunAll)
	}).Should(MatchError(ContainSubstring(message)))
	return lift
}

// holds of the template of the control plane.
func holds(ctx context.Context, cluster *scenario.Cluster) ([]infrav1.UpgradeHold, error) {
	template := &infrav1.ElementalMachineTemplate{}
	err := theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: scenario.ControlPlaneTemplate}, template)
	return template.Status.Holds, err
}

var _ = Describe("A KubeadmControlPlane whose Machines must not have the wanted OS", func() {
	// KubeadmControlPlane interprets a rejection as "cannot be updated in place", and deletes the Machine without
	// calling the hook.
	It("loses no Machine: a rotation is refused, and a patch is not carried out, before they may", func(ctx SpecContext) {
		workload, err := theLab.StartWorkload(ctx, "refused")
		Expect(err).NotTo(HaveOccurred())
		cluster := suite.NewCluster(ctx, theLab, scenario.Options{Name: "refused", Workload: workload, ControlPlane: 3})
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		wanted := suite.Push(ctx, cluster, image.OS{})
		lift := forbid(ctx, cluster, wanted.URI())

		Expect(cluster.CopyControlPlaneTemplate(ctx, "by-hand", wanted)).To(Succeed())
		Eventually(pointTo).WithContext(ctx).WithArguments(cluster, "by-hand").Should(MatchError(And(
			ContainSubstring("KubeadmControlPlane control-plane would delete Machine "), ContainSubstring("this image is not allowed here"))))
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		Eventually(holds).WithContext(ctx).WithArguments(cluster).Should(ContainElement(And(
			HaveField("Reason", infrav1.HoldReason(infrav1.BlockedReason)), HaveField("Message", ContainSubstring("this image is not allowed here")))))
		Expect(cluster.ControlPlaneReference(ctx)).To(Equal(scenario.ControlPlaneTemplate))
		Expect(cluster.Identities(ctx)).To(Equal(before))

		lift(ctx)
		Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
		Expect(cluster.Identities(ctx)).To(Equal(before))
	})
})
