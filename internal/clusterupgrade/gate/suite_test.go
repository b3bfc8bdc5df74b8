// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestGate(t *testing.T) {
	specs.Run(t, "Gate")
}

// server is the workload cluster. No controller for Jobs runs in it.
var server *apiserver.Server

var _ = BeforeSuite(func() { server = apiserver.StartForSuite() })
