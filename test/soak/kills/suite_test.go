// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kills_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/killtable"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// patience is the timeout for what has to happen soon.
	patience = specs.Patience
	look     = 50 * time.Millisecond

	// refuge is the pool of a worker that is not upgraded, to which virtual machines can be
	// migrated.
	refuge = "refuge"
)

var (
	theLab  *lab.Lab
	cluster *scenario.Cluster
	worker  scenario.Identity
	// scene is the stage of all side effects, and table has the kills.
	scene *killtable.Stage
	table *killtable.Table
)

func TestKills(t *testing.T) {
	specs.Run(t, "Kills")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{KubeVirt: true})
	suite.KeepsMachines(theLab)
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{
		Name: "kills", Pools: []scenario.Pool{{Name: scenario.Deployment, Workers: 1}, {Name: refuge, Workers: 1}},
	})
	worker = theWorker(ctx)
	web := suite.Web(2)
	web.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: worker.Node}
	Expect(theLab.WorkloadKube.Create(ctx, web)).To(Succeed())
	Expect(cluster.AwaitWeb(ctx)).To(Succeed())
	startGuests(ctx)
	openStage(ctx)
})

// theWorker is the worker that is upgraded.
func theWorker(ctx SpecContext) scenario.Identity {
	GinkgoHelper()
	machines, err := cluster.PoolMachines(ctx, scenario.Deployment)
	Expect(err).NotTo(HaveOccurred())
	Expect(machines).To(HaveLen(1))
	workers, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	at := slices.IndexFunc(workers, func(w scenario.Identity) bool { return w.MachineUID == string(machines[0].UID) })
	Expect(at).To(BeNumerically(">=", 0))
	return workers[at]
}

// openStage makes all side effects of the manager and the agent pass through the stage.
func openStage(ctx SpecContext) {
	GinkgoHelper()
	table = killtable.NewTable(killtable.InFocus(killtable.ReadEdges(committed)), killtable.EachProcess())
	opened, closeStage, err := killtable.Open(ctx, theLab, cluster, theLab.Host(worker.Node), table)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(closeStage)
	scene = opened
}
