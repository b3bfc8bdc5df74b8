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
)

const (
	// patience is for something that has to happen soon. After two outages of an API server within two minutes the
	// watches of all managers are opened again up to a minute late: client-go backs off to 30 seconds and adds as much at random.
	patience = 3 * time.Minute
	look     = 50 * time.Millisecond
	// webPods is how many Pods are drained from the worker.
	webPods = 2
)

// The suite has one cluster with one worker and a spare host; each spec upgrades the worker.
var (
	theLab  *lab.Lab
	cluster *scenario.Cluster
)

func TestRestart(t *testing.T) {
	RegisterFailHandler(Fail)
	suite, reporter := GinkgoConfiguration()
	RunSpecs(t, "Restart", suite, reporter)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{})
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{Workers: 1, Spare: 1})
	Expect(theLab.WorkloadKube.Create(ctx, suite.Web(webPods))).To(Succeed())
	Expect(cluster.AwaitWeb(ctx)).To(Succeed())
})

var _ = suite.TellWhenFailed(func() *lab.Lab { return theLab })
