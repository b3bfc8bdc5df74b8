// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var theLab *lab.Lab

func TestHostAPI(t *testing.T) {
	specs.Run(t, "Host API")
}

var _ = BeforeSuite(func(ctx SpecContext) { theLab = suite.StartLab(ctx, lab.Options{WithoutWorkload: true}) })
