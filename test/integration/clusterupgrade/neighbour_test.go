// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// expectHeldInNeighbour expects that another Cluster of the namespace takes no image that rolled back in the suite's, until the quarantine is lifted
// there.
func expectHeldInNeighbour(ctx context.Context, bad image.Image) {
	GinkgoHelper()
	const name, pool = "neighbour", "pool-c"
	workload, err := theLab.StartWorkload(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	neighbour := suite.NewCluster(ctx, theLab, scenario.Options{
		Name: name, Namespace: cluster.Namespace(), Workload: workload, Pools: []scenario.Pool{{Name: pool, Workers: 1}},
	})
	why := "is quarantined by ElementalCluster " + cluster.Options.Name
	message := func(ctx context.Context) (string, error) {
		found, err := neighbour.Upgrade(ctx, name)
		return found.Status.Message, err
	}

	By("upgrading another Cluster of the namespace to the bad image")
	Expect(neighbour.ApplyUpgrade(ctx, name, bad, "")).To(Succeed())
	Eventually(message).WithContext(ctx).Should(ContainSubstring(why))
	isDisrupted := func(attempt infrav1.ElementalHostUpgrade) bool {
		return attempts.HasEntered(&attempt, attempts.StepCordon)
	}
	Consistently(neighbour.Attempts, calm).WithContext(ctx).Should(And(Not(BeEmpty()), HaveEach(Not(Satisfy(isDisrupted)))))

	By("lifting the quarantine where it was set")
	_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "elementalcluster", cluster.Options.Name, "--type", "merge", "--patch", `{"spec":{"quarantine":[]}}`)
	Expect(err).NotTo(HaveOccurred())
	Eventually(func(ctx context.Context) (infrav1.ClusterUpgradePhase, error) {
		found, err := neighbour.Upgrade(ctx, name)
		return found.Status.Phase, err
	}, whole).WithContext(ctx).Should(Equal(infrav1.ClusterUpgradeFailed), "it was tried there, too")
	Expect(audit.TriggeredFor(suite.Audit(theLab.Management), bad.URI())).To(HaveLen(2), "once in each Cluster")
}
