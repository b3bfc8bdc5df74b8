// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var theLab *lab.Lab

func TestHostAPI(t *testing.T) {
	specs.Run(t, "Host API")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	theLab, err = lab.Start(ctx, lab.Options{WithoutWorkload: true, Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		defer theLab.Stop()
		Expect(theLab.Err()).NotTo(HaveOccurred(), "no process died by itself")
	})
})
