// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/repository"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// patience is the timeout for what has to happen soon.
	patience = specs.Patience
	look     = 200 * time.Millisecond
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
	var err error
	root, err = repository.Root()
	Expect(err).NotTo(HaveOccurred())
	directory = GinkgoT().TempDir()
	suite.WriteRepository(ctx, root, directory, tag)
	source = startPlane(ctx, lab.Options{Handover: true, KubeVirt: true})
})

var _ = suite.TellWhenFailed(func() *lab.Lab {
	if source == nil {
		return nil
	}
	return source.Lab
})

var _ = suite.TellWhenFailed(func() *lab.Lab {
	if target == nil {
		return nil
	}
	return target.Lab
})
