// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vanish_test

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
	// calm is how long something must not happen, and look how often the specs poll: what they interrupt must not be over.
	calm = 5 * time.Second
	look = 50 * time.Millisecond
)

var (
	theLab *lab.Lab
	// small has one worker and a spare host; each of its specs restores that. Other specs have clusters of
	// their own.
	small *scenario.Cluster
)

func TestVanish(t *testing.T) {
	specs.Run(t, "Vanish")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{})
	SetDefaultEventuallyPollingInterval(look)
	small = suite.NewCluster(ctx, theLab, scenario.Options{Name: "small", Workers: 1, Spare: 1})
	suite.AddNode(ctx, small)
})
