// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package selfhosted_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var (
	theLab  *lab.Lab
	cluster *scenario.Cluster
	// node is the only one of the cluster, with its Machine and host.
	node scenario.Identity
)

func TestSelfHosted(t *testing.T) {
	specs.Run(t, "SelfHosted")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{SelfHosted: true})
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{Name: "self", ControlPlane: 1, ControlPlaneMaxSurge: 1})
	identities, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(identities).To(HaveLen(1))
	node = identities[0]
	Expect(theLab.HostOn(ctx, node.Node)).To(Succeed())
	Expect(cluster.PatchUpgradeOption(ctx, `{"allowQuorumLoss":true}`)).To(Succeed())
})

var _ = AfterSuite(func() {
	if theLab == nil {
		return
	}
	events := suite.Audit(theLab.Management)
	Expect(audit.Deleted(events, "machines")).To(BeEmpty(), "no Machine was ever deleted")
	Expect(audit.Cordons(events)).To(BeEmpty(), "the only Node is not cordoned: what runs on it has nowhere else to go")
	Expect(audit.Evictions(events)).To(BeEmpty(), "and nothing is drained from it")
})
