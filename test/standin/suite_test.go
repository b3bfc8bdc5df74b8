// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package standin_test

import (
	"testing"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestStandin(t *testing.T) {
	specs.Run(t, "Stand-in for the elemental CLI")
}
