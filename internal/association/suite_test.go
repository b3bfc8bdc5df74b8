// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package association_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestAssociation(t *testing.T) {
	specs.Run(t, "Association Suite")
}

// managers stand for several managers that believe to be the leader: each has its own cache.
const managers = 3

var (
	server *apiserver.Server
	// clients are the caching clients of the managers.
	clients []client.Client
)

var _ = BeforeSuite(func(ctx SpecContext) {
	server = apiserver.StartForSuite()
	for range managers {
		mgr := server.NewManager(association.AddIndexes)
		server.Run(mgr)
		clients = append(clients, mgr.GetClient())
	}
})
