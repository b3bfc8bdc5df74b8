// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterkubevirt_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const upgrade = "whole"

var _ = Describe("One ElementalClusterUpgrade for KubeVirt and the OS", func() {
	var guests []vm.State
	BeforeEach(func(ctx SpecContext) {
		start(ctx, lab.Options{}, scenario.Options{ControlPlane: 3, Workers: 3})
		Expect(cluster.CreateGates(ctx)).To(Succeed())
		edit(ctx, func(of *kubevirtv1.KubeVirtSpec) {
			of.ImageTag = kubevirt.Version
			of.WorkloadUpdateStrategy.WorkloadUpdateMethods = []kubevirtv1.WorkloadUpdateMethod{kubevirtv1.WorkloadUpdateMethodLiveMigrate}
		})
		Expect(theLab.KubeVirt.AwaitDeployed(ctx, kubevirt.Version)).To(Succeed())
		guests = createVMs(ctx, 3)
	})

	It("upgrades KubeVirt before the nodes, moves virtual machines with their nodes alone, and waits for a gate", func(ctx SpecContext) {
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.ApplyUpgrade(ctx, upgrade, wanted, "  kubeVirt: {version: "+kubevirt.NextVersion+"}\n"+scenario.StorageGate)).To(Succeed())

		By("waiting for virt-operator, with the workload updates held")
		Eventually(status(ctx)).Should(And(HaveField("Stage", HavePrefix("KubeVirt (3/")),
			HaveField("Message", ContainSubstring("apply the manifests of virt-operator "+kubevirt.NextVersion))))
		Expect(kubeVirt(ctx)()).To(And(HaveField("Spec.WorkloadUpdateStrategy.WorkloadUpdateMethods", BeEmpty()), HaveField("Spec.ImageTag", kubevirt.Version),
			HaveField("Annotations", HaveKey(infrav1.HeldWorkloadsAnnotation))))

		By("upgrading virt-operator, as a person does")
		Expect(theLab.KubeVirt.ApplyOperator(ctx, kubevirt.NextVersion)).To(Succeed())
		Eventually(kubeVirt(ctx), whole).Should(HaveField("Spec.ImageTag", kubevirt.NextVersion))
		Expect(begun(ctx, wanted)()).To(BeEmpty())
		Eventually(begun(ctx, wanted), whole).Should(HaveLen(1))
		Expect(kubeVirt(ctx)()).To(Satisfy(func(k *kubevirtv1.KubeVirt) bool { return kubevirt.IsDeployed(k, kubevirt.NextVersion) }), "KubeVirt is rolled out before the first node")

		By("closing the gate while the first node is in work")
		Expect(cluster.SetStorageHealth(ctx, scenario.StorageUnhealthy)).To(Succeed())
		Eventually(status(ctx), whole).Should(And(HaveField("Message", HavePrefix("gate storage is closed: ")), HaveField("NodesDone", HaveValue(BeEquivalentTo(1)))))
		Consistently(begun(ctx, wanted), calm).Should(HaveLen(1))
		Expect(cluster.SetStorageHealth(ctx, scenario.StorageHealthy)).To(Succeed())

		By("upgrading the other nodes")
		Eventually(status(ctx), whole).Should(HaveField("Phase", infrav1.ClusterUpgradeSucceeded))
		Expect(begun(ctx, wanted)()).To(HaveLen(6), "each node once")
		Expect(audit.MaxOverlap(audit.Cordons(suite.Audit(cluster.Workload())))).To(Equal(1), "one node at a time")
		Expect(cluster.Identities(ctx)).To(Equal(before))
		Expect(audit.Deleted(suite.Audit(theLab.Management), "machines")).To(BeEmpty())

		By("looking at KubeVirt and the virtual machines")
		Expect(kubeVirt(ctx)()).To(And(HaveField("Spec.WorkloadUpdateStrategy.WorkloadUpdateMethods", ConsistOf(kubevirtv1.WorkloadUpdateMethodLiveMigrate)),
			HaveField("Annotations", Not(HaveKey(infrav1.HeldWorkloadsAnnotation)))))
		expectUpdated(ctx, guests)
		expectMovedWithNodes(ctx)
	})
})
