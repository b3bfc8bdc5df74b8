// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterkubevirt_test

import (
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/repository"
)

const (
	// patience is the timeout for what has to happen soon, and whole that for an upgrade of KubeVirt, or of all nodes.
	patience = 5 * time.Minute
	whole    = 15 * time.Minute
	look     = 200 * time.Millisecond
	// calm is how long something must not happen.
	calm = 5 * time.Second

	nodes = 6
)

var (
	theLab  *lab.Lab
	cluster *scenario.Cluster
)

func TestClusterKubeVirt(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(look)
	RunSpecs(t, "Cluster upgrade with KubeVirt")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	root, err := repository.Root()
	Expect(err).NotTo(HaveOccurred())
	if missing := kubevirt.Missing(filepath.Join(root, "bin", "tools")); missing != "" {
		Skip(missing)
	}
	theLab = suite.StartLab(ctx, lab.Options{VirtOperator: true})
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{ControlPlane: 3, Workers: 3})
	Expect(theLab.KubeVirt.AwaitDeployed(ctx, kubevirt.Version)).To(Succeed())
})

var _ = suite.TellWhenFailed(func() *lab.Lab { return theLab })

var _ = ReportAfterEach(func(ctx SpecContext, report SpecReport) {
	if report.Failed() && theLab != nil {
		said, err := theLab.WorkloadKubectl(ctx, "get", "--all-namespaces", "kubevirts,virtualmachineinstances,virtualmachineinstancemigrations", "--output", "yaml")
		GinkgoWriter.Println(said, err)
	}
})
