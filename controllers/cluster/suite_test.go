// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/cluster"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/kubeconfig"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestCluster(t *testing.T) {
	specs.Run(t, "ElementalCluster Controller Suite")
}

const watchFilter = "tested"

var (
	server *apiserver.Server
	// cached is what the controller has seen.
	cached client.Reader
	// lists of the controller.
	lists *apiserver.Counting
)

// settling is long against the time that a write needs to come back as an event.
const settling = 500 * time.Millisecond

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultConsistentlyDuration(time.Second)
	server = apiserver.StartForSuite()
	mgr, err := server.NewManager()
	Expect(err).NotTo(HaveOccurred())
	cached, lists = mgr.GetCache(), &apiserver.Counting{Client: mgr.GetClient()}
	Expect(clusterview.AddIndexes(ctx, mgr.GetFieldIndexer())).To(Succeed())
	Expect((&cluster.Reconciler{Client: lists, Kubeconfigs: kubeconfig.NewReader(mgr.GetCache()), WatchFilterValue: watchFilter}).
		SetupWithManager(ctx, mgr, controller.Options{})).To(Succeed())
	stop, err := apiserver.Run(context.Background(), mgr)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(stop)
})
