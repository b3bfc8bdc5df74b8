// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predrain_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestPreDrain(t *testing.T) {
	specs.Run(t, "Pre-drain Hook Suite")
}

var (
	server *apiserver.Server
	// live reads and writes the API server, which is management and workload cluster in one.
	live client.Client
)

var _ = BeforeSuite(func() {
	server = apiserver.StartForSuite()
	live = apiserver.NewIndexed(server.Client, clusterview.AddIndexes)
})
