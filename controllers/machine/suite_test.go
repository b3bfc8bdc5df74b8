// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/machine"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

func TestMachine(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "ElementalMachine Controller Suite")
}

var (
	server *apiserver.Server
	// workload is the workload cluster: Nodes of the same API server.
	workload *workloadCache
	// clock of the controller.
	clock *clocktesting.FakePassiveClock
)

// filtered is the watch-filter value that the controller under test does not look after.
const watchFilter = "tested"

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultConsistentlyDuration(time.Second)
	var err error
	server, err = apiserver.Start(false)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return server.Stop() })

	mgr, err := server.NewManager()
	Expect(err).NotTo(HaveOccurred())
	workload = newWorkloadCache(mgr)
	clock = clocktesting.NewFakePassiveClock(time.Now())
	Expect((&machine.Reconciler{
		Client:           mgr.GetClient(),
		APIReader:        mgr.GetAPIReader(),
		ClusterCache:     workload,
		Clock:            clock,
		WatchFilterValue: watchFilter,
	}).SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: 10})).To(Succeed())
	stop, err := apiserver.Run(context.Background(), mgr)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(stop)
})
