// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var (
	theLab  *lab.Lab
	cluster *scenario.Cluster
	// empty is a backup of the management cluster with the providers alone.
	empty string
)

func TestRestore(t *testing.T) {
	specs.Run(t, "Restore")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{})
	empty = filepath.Join(GinkgoT().TempDir(), "etcd")
	Expect(theLab.Management.Backup(empty)).To(Succeed())
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{Workers: 1, Spare: 1})
	suite.AddNode(ctx, cluster)
})
