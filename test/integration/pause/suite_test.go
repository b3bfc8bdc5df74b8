// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pause_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// calm is how long something must not happen.
	calm = 3 * time.Second

	// workers is a pool of three, and single one of one.
	workers, single = "workers", "single"
)

// The suite has one cluster with both pools; each spec upgrades one of them.
var (
	theLab  *lab.Lab
	cluster *scenario.Cluster
	// runs is the image of each pool.
	runs map[string]image.Image
)

func TestPause(t *testing.T) {
	specs.Run(t, "Pause")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{})
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{Pools: []scenario.Pool{{Name: workers, Workers: 3}, {Name: single, Workers: 1}}})
	runs = map[string]image.Image{workers: cluster.Image, single: cluster.Image}
})
