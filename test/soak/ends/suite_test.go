// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package ends_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// calm is how long something must not happen.
const calm = 3 * time.Second

// The suite has one cluster with one worker and a spare host; each spec upgrades the worker.
var (
	theLab  *lab.Lab
	cluster *scenario.Cluster
	// running is the image that the worker was last upgraded to.
	running image.Image
)

func TestEnds(t *testing.T) {
	specs.Run(t, "Ends")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{KubeVirt: true})
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{Workers: 1, Spare: 1})
	suite.AddNode(ctx, cluster)
	running = cluster.Image
	Expect(theLab.WorkloadKube.Create(ctx, suite.Web(webPods))).To(Succeed())
	Expect(cluster.AwaitWeb(ctx)).To(Succeed())
	_, err := cluster.CreateVM(ctx, guest)
	Expect(err).NotTo(HaveOccurred())
})

// webPods is the number of Pods that are drained from the worker.
const webPods = 2
