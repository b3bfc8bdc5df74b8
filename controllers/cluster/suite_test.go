// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
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

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultConsistentlyDuration(time.Second)
	server = apiserver.StartForSuite()
	mgr := server.NewManager(clusterview.AddIndexes)
	cached, lists = mgr.GetCache(), &apiserver.Counting{Client: mgr.GetClient()}
	Expect((&cluster.Reconciler{
		Client: lists, Kubeconfigs: kubeconfig.NewReader(mgr.GetCache()), Recorder: mgr.GetEventRecorder("elementalcluster"), WatchFilterValue: watchFilter,
	}).
		SetupWithManager(ctx, mgr, controller.Options{})).To(Succeed())
	server.Run(mgr)
})
