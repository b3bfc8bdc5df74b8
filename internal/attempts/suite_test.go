// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package attempts_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestAttempts(t *testing.T) {
	specs.Run(t, "Attempts")
}

var (
	server *apiserver.Server
	live   client.Client
	// cached is what a manager with the indexes has seen.
	cached client.Reader
)

var _ = BeforeSuite(func(ctx SpecContext) {
	server = apiserver.StartForSuite()
	live = server.Client
	mgr := server.NewManager(attempts.AddIndexes)
	_, err := mgr.GetCache().GetInformer(ctx, &infrav1.ElementalHostUpgrade{})
	Expect(err).NotTo(HaveOccurred())
	cached = mgr.GetClient()
	server.Run(mgr)
})
