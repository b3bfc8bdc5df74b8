// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const patience = specs.Patience

// theLab is started once: its clusters are not changed except for what each container of specs
// creates.
var theLab *lab.Lab

func TestLab(t *testing.T) {
	specs.Run(t, "Lab")
}

var _ = BeforeSuite(func(ctx SpecContext) { theLab = suite.StartLab(ctx, lab.Options{WithoutProvider: true}) })
