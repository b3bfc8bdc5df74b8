// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("Virtual machines", func() {
	It("have left a Node before Rancher drains it", func(ctx SpecContext) {
		cluster := suite.NewCluster(ctx, theLab, scenario.Options{Name: "guests", Rancher: true, ControlPlane: 1, Workers: 2, DrainOptions: withHooks})
		spec := vm.Spec{Name: "pet", EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate, Prefer: cluster.HostName(1)}
		key := client.ObjectKeyFromObject(vm.New(spec))
		_, err := cluster.CreateVM(ctx, spec)
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() (vm.State, error) { return cluster.VM(ctx, key) }, patience, look).Should(And(HaveField("Migratable", BeTrue()), HaveField("Running()", BeTrue())))
		was, err := cluster.VM(ctx, key)
		Expect(err).NotTo(HaveOccurred())

		wanted := patch(ctx, cluster, image.OS{}, scenario.Deployment)
		roll(ctx, cluster)
		Eventually(ends, 2*patience, look).WithContext(ctx).WithArguments(cluster, wanted).Should(And(HaveLen(2), HaveEach(infrav1.UpgradeSucceeded)))
		Expect(cluster.AwaitRancher(ctx)).To(Succeed())
		Expect(cluster.VM(ctx, key)).To(And(HaveField("UID", Equal(was.UID)), HaveField("Running()", BeTrue())), "it was moved, and never stopped")
		migrations := &kubevirtv1.VirtualMachineInstanceMigrationList{}
		Expect(cluster.WorkloadKube().List(ctx, migrations, client.InNamespace(key.Namespace))).To(Succeed())
		Expect(migrations.Items).To(And(Not(BeEmpty()), HaveEach(HaveField("Labels", HaveKey(infrav1.EvacuationLabel)))),
			"each was moved for the upgrade, and none because Rancher evicted it")
	}, SpecTimeout(4*patience))
})
