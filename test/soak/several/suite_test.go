// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package several_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

const (
	// patience is for something that has to happen soon, or on a busy machine.
	patience = 3 * time.Minute
	look     = 20 * time.Millisecond
	// writing is how many seconds writing an image takes, so that upgrades that may overlap do.
	writing = 3
)

// east and west are the pools of the one cluster, of two workers each; north and south those of the other, of one worker
// each, which has a control plane of three besides.
const (
	east, west   = "east", "west"
	north, south = "north", "south"
	controlPlane = scenario.ControlPlane
)

// The suite has two replicas of the manager, and two clusters in one namespace.
var (
	theLab *lab.Lab
	// cluster has no control plane of hosts, other has.
	cluster, other *scenario.Cluster
	// pushed counts the images, for their tags.
	pushed int
)

func TestSeveral(t *testing.T) {
	RegisterFailHandler(Fail)
	suite, reporter := GinkgoConfiguration()
	RunSpecs(t, "Several", suite, reporter)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	theLab, err = lab.Start(ctx, lab.Options{Progress: GinkgoWriter, Managers: 2})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(theLab.Stop)
	cluster = create(ctx, scenario.Options{Name: "several", Pools: []scenario.Pool{{Name: east, Workers: 2}, {Name: west, Workers: 2}}})
	workload, err := theLab.StartWorkload(ctx, "other-workload")
	Expect(err).NotTo(HaveOccurred())
	other = create(ctx, scenario.Options{
		Name: "other", Namespace: cluster.Namespace(), Workload: workload, ControlPlane: 3,
		Pools: []scenario.Pool{{Name: north, Workers: 1}, {Name: south, Workers: 1}},
	})
})

func create(ctx context.Context, options scenario.Options) *scenario.Cluster {
	GinkgoHelper()
	made := scenario.New(theLab, options)
	made.Told = func(command string) { GinkgoWriter.Println("$", command) }
	err := made.Create(ctx)
	if err != nil {
		tell(ctx)
	}
	Expect(err).NotTo(HaveOccurred())
	return made
}

var _ = AfterSuite(func() {
	Expect(theLab.Err()).NotTo(HaveOccurred(), "no process died by itself")
	Expect(audit.Forbidden(auditOf(theLab.Management), lab.ManagerUser)).To(BeEmpty(), "the manager has all the rights it uses")
	Expect(audit.Deleted(auditOf(theLab.Management), "machines")).To(BeEmpty(), "no Machine was deleted")
})

// What went wrong is in the attempts and in what the managers say.
var _ = ReportAfterEach(func(ctx SpecContext, report SpecReport) {
	if report.Failed() && cluster != nil {
		tell(ctx)
	}
})

func tell(ctx context.Context) {
	said, err := theLab.Kubectl(ctx, "--namespace", cluster.Namespace(), "get",
		"elementalhostupgrades,elementalhosts,elementalclusters,machines,machinesets,machinedeployments,elementalmachinetemplates", "--output", "yaml")
	GinkgoWriter.Println(said, err)
	for _, manager := range theLab.Managers {
		GinkgoWriter.Println(process.Tail(manager.Process.LogFile()))
	}
}

// push makes a new image.
func push(ctx context.Context, os image.OS) image.Image {
	GinkgoHelper()
	pushed++
	made, err := cluster.PushImage(ctx, fmt.Sprintf("s%d", pushed), os)
	Expect(err).NotTo(HaveOccurred())
	return made
}

// auditOf reads the audit log of a cluster.
func auditOf(cluster *kube.Cluster) []auditv1.Event {
	GinkgoHelper()
	events, err := audit.Read(cluster.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	return events
}
