// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/sets"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const gated = scenario.StorageGate + `  - {name: smoke, job: {image: registry.test/smoke:v1, timeoutSeconds: 120}}
`

var _ = Describe("A gate of an ElementalClusterUpgrade", func() {
	BeforeEach(func(ctx SpecContext) {
		Expect(cluster.CreateGates(ctx)).To(Succeed())
	})

	It("that closes in the middle holds the next node, and lets it go when it opens", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(apply(ctx, "gated", wanted, gated)).To(Succeed())

		By("closing it while the first node is in work")
		Eventually(begun).WithContext(ctx).WithArguments(wanted).Should(HaveLen(1))
		Expect(cluster.SetStorageHealth(ctx, scenario.StorageUnhealthy)).To(Succeed())
		Eventually(status).WithContext(ctx).WithArguments("gated").Should(And(
			HaveField("Phase", infrav1.ClusterUpgradeProgressing), HaveField("NodesDone", HaveValue(BeEquivalentTo(1))),
			HaveField("Message", "gate storage is closed: the expression is false of ConfigMap upgrade-gates/storage. "+
				"It is evaluated again by itself, and may be changed in spec.gates of the ElementalClusterUpgrade"),
			HaveField("Gates", ContainElement(And(HaveField("Name", "storage"), HaveField("Open", BeFalse()))))))
		Consistently(begun, calm).WithContext(ctx).WithArguments(wanted).Should(HaveLen(1), "no other node begins")
		_, err := cluster.AwaitMessage(ctx, wanted, "Admit", "waiting for ElementalClusterUpgrade gated: gate storage is closed: ")
		Expect(err).NotTo(HaveOccurred())

		By("opening it")
		Expect(cluster.SetStorageHealth(ctx, scenario.StorageHealthy)).To(Succeed())
		Eventually(phase, whole).WithContext(ctx).WithArguments("gated").Should(Equal(infrav1.ClusterUpgradeSucceeded))
		awaitAll(ctx, wanted)
		Expect(begun(ctx, wanted)).To(HaveLen(all), "each node once")
		jobs := sets.New[string]()
		for _, event := range suite.Audit(cluster.Workload()) {
			if event.ObjectRef.Resource == "jobs" && event.Verb == "create" && audit.Succeeded(event) {
				jobs.Insert(event.ObjectRef.Name)
				Expect(event.ImpersonatedUser).To(HaveField("Username", "system:serviceaccount:upgrade-gates:gates"))
			}
		}
		Expect(len(jobs)).To(BeNumerically(">", all), "a Job before each node, and before the end")
	})
})
