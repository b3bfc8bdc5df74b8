// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestClusterUpgrade(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Cluster upgrade")
}
