// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package managedos_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestManagedOS(t *testing.T) {
	specs.Run(t, "ManagedOSVersion Suite")
}

var server *apiserver.Server

var _ = BeforeSuite(func() { server = apiserver.StartForSuite() })
