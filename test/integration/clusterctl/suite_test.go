// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var (
	root string
	// source and target of moves.
	source, target *plane
)

func TestClusterctl(t *testing.T) {
	specs.Run(t, "clusterctl")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	root = specs.Root()
	directory = GinkgoT().TempDir()
	suite.WriteRepository(ctx, root, directory, tag)
	source = startPlane(ctx, lab.Options{Handover: true, KubeVirt: true})
})
