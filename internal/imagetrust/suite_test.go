// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imagetrust_test

import (
	"testing"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// theTest is for helpers that do not know of Ginkgo.
var theTest *testing.T

func TestImageTrust(t *testing.T) {
	theTest = t
	specs.Run(t, "Image Trust Suite")
}
