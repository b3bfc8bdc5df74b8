// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package restart_test

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
	// patience is the timeout for what has to happen soon. After an outage of an API server some watches of the
	// managers are reestablished late: client-go backs off up to 30 seconds plus as much jitter, and resets the backoff
	// only after two minutes without an outage. Of 36 watches the last was observed 100 seconds late, and one change
	// has to pass through several of them.
	patience = specs.Patience
	look     = 50 * time.Millisecond
	// webPods is the number of Pods that are drained from the worker.
	webPods = 2
)

// The suite has one cluster with one worker and a spare host; each spec upgrades the worker.
var (
	theLab  *lab.Lab
	cluster *scenario.Cluster
)

func TestRestart(t *testing.T) {
	specs.Run(t, "Restart")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{})
	SetDefaultEventuallyPollingInterval(look)
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{Workers: 1, Spare: 1})
	suite.AddNode(ctx, cluster)
	Expect(theLab.WorkloadKube.Create(ctx, suite.Web(webPods))).To(Succeed())
	Expect(cluster.AwaitWeb(ctx)).To(Succeed())
})
