// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

func TestRancher(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Rancher Suite")
}

var server *apiserver.Server

var _ = BeforeSuite(func() {
	server = apiserver.StartForSuite()
})
