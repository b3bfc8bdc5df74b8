// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// theLab is shared by all specs.
var theLab *lab.Lab

func TestRancher(t *testing.T) {
	specs.Run(t, "Rancher")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{Rancher: true, KubeVirt: true, WithoutInPlaceUpdates: true, WithoutExtension: true})
	suite.KeepsMachines(theLab)
})
