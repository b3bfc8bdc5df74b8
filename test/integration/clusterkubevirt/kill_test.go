// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterkubevirt_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// The KubeVirt here follows its operator, the account of the workload cluster has no more rights than config/workload gives it, and virtual machines are
// brought to current launchers before the nodes.
var _ = Describe("One ElementalClusterUpgrade for KubeVirt and the OS whose manager is killed", func() {
	It("at each change of its stage and of KubeVirt, upgrades both once", func(ctx SpecContext) {
		start(ctx, lab.Options{WorkloadAccount: true}, scenario.Options{Workers: 3})
		edit(ctx, func(of *kubevirtv1.KubeVirtSpec) {
			of.WorkloadUpdateStrategy.WorkloadUpdateMethods = []kubevirtv1.WorkloadUpdateMethod{kubevirtv1.WorkloadUpdateMethodLiveMigrate}
		})
		Expect(theLab.KubeVirt.AwaitDeployed(ctx, kubevirt.Version)).To(Succeed())
		guests := createVMs(ctx, 2)
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.ApplyUpgrade(ctx, upgrade, wanted, "  kubeVirt: {version: "+kubevirt.NextVersion+", workloads: BeforeNodes}\n")).To(Succeed())

		isApplied, updatedFirst := false, false
		edges := suite.KillAtEachEdge(ctx, theLab, whole, func(ctx context.Context) (string, bool, error) {
			now, err := status(ctx)()
			if err != nil {
				return "", false, err
			}
			if !isApplied && strings.Contains(now.Message, "apply the manifests of virt-operator") {
				err := theLab.KubeVirt.ApplyOperator(ctx, kubevirt.NextVersion)
				isApplied = err == nil
				return "virt-operator is upgraded", false, err
			}
			if strings.HasPrefix(now.Stage, "Workloads") {
				hosts, err := begun(ctx, wanted)()
				updatedFirst = err == nil && len(hosts) == 0
			}
			k, err := kubeVirt(ctx)()
			if err != nil {
				return "", false, err
			}
			return edgeOf(now, k), now.Phase == infrav1.ClusterUpgradeSucceeded, nil
		})
		Expect(len(edges)).To(BeNumerically(">=", 9), "edges at which it was killed: %s", edges)
		Expect(updatedFirst).To(BeTrue(), "virtual machines are updated before the nodes")

		Expect(begun(ctx, wanted)()).To(HaveLen(3), "each node once")
		Expect(audit.MaxOverlap(audit.Cordons(suite.Audit(cluster.Workload())))).To(Equal(1), "one node at a time")
		Expect(kubeVirt(ctx)()).To(And(HaveField("Spec.ImageTag", ""), HaveField("Annotations", Not(HaveKey(infrav1.HeldWorkloadsAnnotation))),
			HaveField("Spec.WorkloadUpdateStrategy.WorkloadUpdateMethods", ConsistOf(kubevirtv1.WorkloadUpdateMethodLiveMigrate))))
		expectUpdated(ctx, guests)
	})
})

// edgeOf what the upgrade and KubeVirt tell.
func edgeOf(now infrav1.ElementalClusterUpgradeStatus, k *kubevirtv1.KubeVirt) string {
	_, isHeld := k.Annotations[infrav1.HeldWorkloadsAnnotation]
	return fmt.Sprintf("%s, %d nodes done, KubeVirt %s of %s, workload updates held: %t",
		now.Stage, ptr.Deref(now.NodesDone, 0), k.Status.ObservedKubeVirtVersion, k.Status.TargetKubeVirtVersion, isHeld)
}
