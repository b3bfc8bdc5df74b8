// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package several_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// patience is the timeout for what has to happen soon, or on a busy machine.
	patience = specs.Patience
	look     = 20 * time.Millisecond
	// writing is how many seconds writing an image takes, long enough for upgrades to overlap if they may.
	writing = 3
)

// east and west are the pools of one cluster, with two workers each; north and south those of the other, with one
// worker each, which also has a control plane of three.
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
)

func TestSeveral(t *testing.T) {
	specs.Run(t, "Several")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{Managers: 2})
	suite.KeepsMachines(theLab)
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{Name: "several", Pools: []scenario.Pool{{Name: east, Workers: 2}, {Name: west, Workers: 2}}})
	workload, err := theLab.StartWorkload(ctx, "other-workload")
	Expect(err).NotTo(HaveOccurred())
	other = suite.NewCluster(ctx, theLab, scenario.Options{
		Name: "other", Namespace: cluster.Namespace(), Workload: workload, ControlPlane: 3,
		Pools: []scenario.Pool{{Name: north, Workers: 1}, {Name: south, Workers: 1}},
	})
})
