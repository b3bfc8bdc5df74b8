// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rke2_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("An RKE2ControlPlane of one", Ordered, func() {
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
	)

	BeforeAll(func(ctx SpecContext) {
		workload, err := theLab.StartWorkload(ctx, "single")
		Expect(err).NotTo(HaveOccurred())
		cluster = suite.NewCluster(ctx, theLab, scenario.Options{Name: "single", Workload: workload, ControlPlane: 1, RKE2: true})
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})

	AfterEach(func(ctx SpecContext) {
		Expect(cluster.Identities(ctx)).To(Equal(before), "every Machine, Node name and provider ID is the same")
		Expect(cluster.ControlPlaneReference(ctx)).To(Equal(scenario.ControlPlaneTemplate), "its reference is left alone")
		Expect(audit.Cordons(suite.Audit(cluster.Workload()))).To(BeEmpty(), "the only Node of a cluster is not cordoned")
	})

	rolledOut := func(ctx context.Context) {
		GinkgoHelper()
		Eventually(says).WithContext(ctx).WithArguments(cluster, infrav1.RolledOutCondition).Should(HaveField("Status", "True"))
	}

	It("waits for consent to the loss of its quorum, and is upgraded without Cluster API", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		_, err := cluster.AwaitMessage(ctx, wanted, "Admit", "Set nodeUpgradeOption.allowQuorumLoss in ElementalCluster single")
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.PatchUpgradeOption(ctx, `{"allowQuorumLoss":true}`)).To(Succeed())

		By("changing the control plane while its host reboots")
		Eventually(cluster.Attempts).WithContext(ctx).Should(ContainElement(HaveField("Status.Step", Or(Equal("Reboot"), Equal("Assess")))))
		Expect(cluster.PatchControlPlane(ctx, `{"version":"v1.36.4+rke2r1"}`)).To(MatchError(ContainSubstring("the spec cannot be changed now")))
		Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
		rolledOut(ctx)
		expectDriver(ctx, cluster, wanted, infrav1.DriverDirect, 1)
	})

	It("falls back from a bad image, stops, and continues with the next good one", func(ctx SpecContext) {
		bad := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy})
		Expect(cluster.PatchControlPlaneImage(ctx, bad)).To(Succeed())
		_, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())
		Eventually(says).WithContext(ctx).WithArguments(cluster, infrav1.RolloutBlockedCondition).
			Should(HaveField("Reason", infrav1.AttemptNotSucceededReason))

		good := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchControlPlaneImage(ctx, good)).To(Succeed())
		Expect(cluster.AwaitControlPlaneImage(ctx, good)).To(Succeed())
		rolledOut(ctx)
	})

	It("keeps its only Machine, whatever somebody changes", func(ctx SpecContext) {
		By("pointing it to another template")
		Expect(cluster.CopyControlPlaneTemplate(ctx, "another", suite.Push(ctx, cluster, image.OS{}))).To(Succeed())
		Expect(cluster.PointControlPlane(ctx, "another")).To(MatchError(ContainSubstring("its Machines would be replaced and their hosts reset")))

		deletionsRefused := suite.RefusedFromNow(theLab)
		By("raising its version, about which CAPRKE2 asks whether it can be updated in place")
		Expect(cluster.PatchControlPlane(ctx, `{"version":"v1.36.4+rke2r1"}`)).To(Succeed())
		Eventually(cluster.Kubectl).WithContext(ctx).
			WithArguments("--namespace", cluster.Namespace(), "get", "events", "--field-selector", "reason=InPlaceUpdateRefused").
			Should(ContainSubstring("changes Machine spec.version as well"))
		Expect(deletionsRefused()).To(BeEmpty())

		By("taking away the extension, without which it asks nobody")
		restore := withoutExtension(ctx)
		Eventually(deletionsRefused).ShouldNot(BeEmpty(), "CAPRKE2 tries to delete the Machine")
		Expect(cluster.PatchControlPlane(ctx, `{"version":"v1.36.3+rke2r1"}`)).To(Succeed())
		restore(ctx)
	})
})

// withoutExtension takes our ExtensionConfig away.
func withoutExtension(ctx context.Context) (restore func(context.Context)) {
	GinkgoHelper()
	configs := &runtimev1.ExtensionConfigList{}
	Expect(theLab.Kube.List(ctx, configs)).To(Succeed())
	Expect(configs.Items).To(HaveLen(1))
	config := configs.Items[0].DeepCopy()
	Expect(theLab.Kube.Delete(ctx, config.DeepCopy())).To(Succeed())
	return func(ctx context.Context) {
		GinkgoHelper()
		config.ObjectMeta = metav1.ObjectMeta{Name: config.Name, Annotations: config.Annotations}
		Expect(theLab.Kube.Create(ctx, config)).To(Succeed())
	}
}
