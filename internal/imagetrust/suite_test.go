// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imagetrust_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// theTest is for helpers that do not know of Ginkgo.
var theTest *testing.T

func TestImageTrust(t *testing.T) {
	theTest = t
	RegisterFailHandler(Fail)
	RunSpecs(t, "Image Trust Suite")
}
