// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// patience is the timeout for what has to happen soon.
	patience = specs.Patience
	look     = 200 * time.Millisecond
)

// theLab is shared by all specs.
var theLab *lab.Lab

func TestRancher(t *testing.T) {
	specs.Run(t, "Rancher")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{Rancher: true, KubeVirt: true, WithoutInPlaceUpdates: true, WithoutExtension: true})
})

var _ = AfterSuite(func() {
	if theLab != nil {
		Expect(audit.Deleted(suite.Audit(theLab.Management), "machines")).To(BeEmpty(), "no Machine was ever deleted")
	}
})

var _ = suite.TellWhenFailed(func() *lab.Lab { return theLab })
