// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
)

var _ = It("All preflight checks of the manager can be named in skipPreflight", func() {
	names := []infrav1.PreflightCheck{}
	for _, check := range preflight.Checks(residents()...) {
		names = append(names, infrav1.PreflightCheck(check.Name))
	}
	Expect(infrav1.PreflightChecks()).To(HaveExactElements(names))
})
