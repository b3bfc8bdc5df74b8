// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/cluster-api/test/framework"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = Describe("A cluster of the flavor kubeadm", Ordered, func() {
	var (
		made   *cluster
		before map[string]identity
	)

	BeforeAll(func(ctx SpecContext) {
		made = newCluster(ctx, shape{spec: "kubeadm", flavor: "kubeadm", controlPlane: 3, workers: 2})
		before = made.identities(ctx)
	})

	// Whatever happens to the OS, the Machines and Nodes must stay the same.
	AfterEach(func(ctx SpecContext) { Expect(made.identities(ctx)).To(Equal(before)) })

	It("comes up from the template, with every Machine a Node", Label("quick-start"), func(ctx SpecContext) {
		framework.VerifyClusterAvailable(ctx, framework.VerifyClusterAvailableInput{
			Getter: management.GetClient(), Namespace: made.namespace.Name, Name: made.name,
		})
		framework.VerifyMachinesReady(ctx, framework.VerifyMachinesReadyInput{
			Lister: management.GetClient(), Namespace: made.namespace.Name, Name: made.name,
		})
		Expect(before).To(HaveLen(5))
		for name, one := range before {
			Expect(one.Node).NotTo(BeEmpty(), "the Node of Machine %s", name)
		}
	})

	It("has its workers upgraded in place", Label("in-place", "workers"), func(ctx SpecContext) {
		wanted := config.MustGetVariable(imageUpgrade)
		made.patchImage(ctx, ofWorkers, wanted)
		made.awaitImage(ctx, ofWorkers, wanted)
		Expect(made.attempts(ctx, wanted)).To(HaveLen(2), "the control plane is left alone")
	})

	It("has its control plane of three upgraded in place", Label("in-place", "control-plane"), func(ctx SpecContext) {
		wanted := config.MustGetVariable(imageUpgrade)
		made.patchImage(ctx, ofControlPlane, wanted)
		made.awaitImage(ctx, ofControlPlane, wanted)
	})

	It("rolls back from an image that does not come up, and upgrades to a good one", Label("in-place", "rollback"), func(ctx SpecContext) {
		bad := config.GetVariableOrEmpty(imageBad)
		if bad == "" {
			Skip(imageBad + " is not set")
		}
		By("patching the bad one")
		made.patchImage(ctx, ofWorkers, bad)
		Eventually(made.attempts, made.intervals("wait-os-upgrade")...).WithContext(ctx).WithArguments(bad).
			Should(ContainElement(HaveField("Status.Phase", infrav1.UpgradeRolledBack)))
		Expect(made.attempts(ctx, bad)).NotTo(ContainElement(HaveField("Status.Phase", infrav1.UpgradeSucceeded)))

		By("patching a good one")
		good := config.MustGetVariable(imageInstalled)
		made.patchImage(ctx, ofWorkers, good)
		made.awaitImage(ctx, ofWorkers, good)
		framework.VerifyClusterAvailable(ctx, framework.VerifyClusterAvailableInput{
			Getter: management.GetClient(), Namespace: made.namespace.Name, Name: made.name,
		})
	})
})
