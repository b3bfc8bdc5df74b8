// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package association_test

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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
		mgr, err := server.NewManager()
		Expect(err).NotTo(HaveOccurred())
		Expect(association.AddIndexes(ctx, mgr.GetFieldIndexer())).To(Succeed())
		stop, err := apiserver.Run(context.Background(), mgr)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stop)
		clients = append(clients, mgr.GetClient())
	}
})
