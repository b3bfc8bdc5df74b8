// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestSBOM(t *testing.T) {
	specs.Run(t, "bill of materials")
}

var _ = BeforeSuite(func() { Expect(os.Chdir(specs.Root())).To(Succeed()) })
