// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package double_test

import (
	"os"
	"testing"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// TestMain lets the test binary act as the multi-call binary, because commands that a test kills must
// run in a process of their own.
func TestMain(m *testing.M) {
	if double.Is(os.Args[0]) {
		os.Exit(double.Main())
	}
	os.Exit(m.Run())
}

func TestDouble(t *testing.T) {
	specs.Run(t, "Doubles of a host's commands")
}
