// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestClusterView(t *testing.T) {
	specs.Run(t, "Cluster View Suite")
}

var (
	server *apiserver.Server
	live   client.Client
	// cached is what a manager with the indexes has seen, and counts what is listed of it.
	cached *apiserver.Counting
)

var _ = BeforeSuite(func(ctx SpecContext) {
	server = apiserver.StartForSuite()
	live = server.Client
	mgr := server.NewManager(clusterview.AddIndexes)
	for _, kind := range []client.Object{&clusterv1.Machine{}, &infrav1.ElementalMachine{}, &infrav1.ElementalHost{}, &infrav1.ElementalHostUpgrade{}} {
		_, err := mgr.GetCache().GetInformer(ctx, kind)
		Expect(err).NotTo(HaveOccurred())
	}
	cached = &apiserver.Counting{Client: mgr.GetClient()}
	server.Run(mgr)
})
