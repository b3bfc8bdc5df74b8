// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kills_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/admission"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/rendezvous"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const (
	// patience is for something that has to happen soon.
	patience = 90 * time.Second
	look     = 50 * time.Millisecond
	blink    = 5 * time.Millisecond

	management = "management"
	workload   = "workload"
)

var (
	theLab  *lab.Lab
	cluster *scenario.Cluster
	// scene is where the side effects pass.
	scene *stage
)

func TestKills(t *testing.T) {
	RegisterFailHandler(Fail)
	suite, reporter := GinkgoConfiguration()
	RunSpecs(t, "Kills", suite, reporter)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{})
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{Name: "kills", Workers: 1})
	Expect(theLab.WorkloadKube.Create(ctx, suite.Web(2))).To(Succeed())
	Expect(cluster.AwaitWeb(ctx)).To(Succeed())
	openStage(ctx)
})

// openStage has everything pass the stage that the manager and the agent do.
func openStage(ctx SpecContext) {
	GinkgoHelper()
	host := theLab.Hosts()[0]
	scene = newStage(newVictims(theLab, host), newTable(readEdges(committed)))
	gate, err := admission.Open(scene.write)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(gate.Close)
	Expect(gate.Guard(ctx, management, theLab.Management, theLab.Kube, lab.ManagerUser)).To(Succeed())
	Expect(gate.Guard(ctx, workload, theLab.Workload, theLab.WorkloadKube, lab.WorkloadUser)).To(Succeed())
	place, err := rendezvous.Open(host.Path(), scene.call)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(place.Close)
}

var _ = AfterSuite(func() {
	if theLab != nil {
		Expect(audit.Deleted(suite.Audit(theLab.Management), "machines")).To(BeEmpty())
	}
})

var _ = suite.TellWhenFailed(func() *lab.Lab { return theLab })
