// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/elementaloperator"
)

func TestHost(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "ElementalHost Controller Suite")
}

const watchFilter = "tested"

var (
	server *apiserver.Server
	// workloads are of the same API server.
	workloads = &fakeConnector{}
	// clock of the controller.
	clock = clocktesting.NewFakePassiveClock(time.Now())
	// reads counts the reconciles: each begins with one read of an ElementalHost. One that is gone is not counted, which a spec
	// before may have made the controller look for after a minute.
	reads atomic.Int64
	// writes counts what the controller writes.
	writes atomic.Int64
)

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultConsistentlyDuration(time.Second)
	server = apiserver.StartForSuite()
	Expect(elementaloperator.Install(server.Config)).To(Succeed())
	mgr, err := server.NewManager()
	Expect(err).NotTo(HaveOccurred())
	Expect(association.AddIndexes(ctx, mgr.GetFieldIndexer())).To(Succeed())
	Expect((&host.Reconciler{Client: counting(mgr), APIReader: mgr.GetAPIReader(), Workload: workloads, Clock: clock, WatchFilterValue: watchFilter}).
		SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: 10})).To(Succeed())
	stop, err := apiserver.Run(context.Background(), mgr)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(stop)
})

// counting is the manager's client, with its reads and writes counted.
func counting(mgr ctrl.Manager) client.Client {
	live, err := client.NewWithWatch(server.Config, client.Options{Scheme: server.Scheme})
	Expect(err).NotTo(HaveOccurred())
	return interceptor.NewClient(live, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			err := mgr.GetClient().Get(ctx, key, object, options...)
			if err == nil {
				reads.Add(1)
			}
			return err
		},
		List: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return mgr.GetClient().List(ctx, list, options...)
		},
		Patch: func(ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			writes.Add(1)
			return inner.Patch(ctx, object, patch, options...)
		},
		SubResourcePatch: func(ctx context.Context, inner client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			writes.Add(1)
			return inner.SubResource(sub).Patch(ctx, object, patch, options...)
		},
	})
}

// reportInterval is long against the time that a write needs to come back as an event.
const reportInterval = 300 * time.Millisecond

// lastReads is what settled has seen before.
var lastReads int64

// settled says whether nothing has been reconciled since it was last asked.
func settled() bool {
	now := reads.Load()
	defer func() { lastReads = now }()
	return now == lastReads
}
