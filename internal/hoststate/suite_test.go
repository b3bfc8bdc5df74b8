// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hoststate_test

import (
	"testing"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestHostState(t *testing.T) {
	specs.Run(t, "Host State Suite")
}
