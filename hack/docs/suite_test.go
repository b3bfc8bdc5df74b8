// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestDocs(t *testing.T) {
	specs.Run(t, "reference of fields and flags")
}
