// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rke2_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rke2"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// calm is how long something must not happen.
const calm = 8 * time.Second

// theLab is shared by all specs.
var theLab *lab.Lab

func TestRKE2(t *testing.T) {
	specs.Run(t, "RKE2")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	if rke2.Dir() == "" {
		Skip("CAPRKE2 is not there: set " + rke2.DirEnv + " as in docs/testing.md")
	}
	theLab = suite.StartLab(ctx, lab.Options{RKE2: true})
	suite.KeepsMachines(theLab)
})

// said is a condition of the control plane's template.
type said struct{ Status, Reason, Message string }

func says(ctx context.Context, cluster *scenario.Cluster, condition string) (said, error) {
	found, err := cluster.TemplateCondition(ctx, scenario.ControlPlaneTemplate, condition)
	return said{string(found.Status), found.Reason, found.Message}, err
}
