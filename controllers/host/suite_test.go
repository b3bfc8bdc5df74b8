// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"sync"
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

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/elementaloperator"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestHost(t *testing.T) {
	specs.Run(t, "ElementalHost Controller Suite")
}

const watchFilter = "tested"

var (
	server *apiserver.Server
	// workloads are of the same API server.
	workloads = &fakeConnector{}
	// clock of the controller.
	clock = clocktesting.NewFakePassiveClock(time.Now())
)

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultConsistentlyDuration(time.Second)
	server = apiserver.StartForSuite()
	Expect(elementaloperator.Install(server.Config)).To(Succeed())
	mgr := server.NewManager(association.AddIndexes, clusterview.AddIndexes)
	Expect((&host.Reconciler{Client: counting(mgr), APIReader: mgr.GetAPIReader(), Workload: workloads, Clock: clock, WatchFilterValue: watchFilter}).
		SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: 10})).To(Succeed())
	server.Run(mgr)
})

// calls counts, by namespace, what the controller reads and writes there: every host of these specs has a namespace of its
// own, and those of specs before are still looked at every 15 seconds or every minute.
var calls sync.Map

// called counts one read, or one write, in a namespace.
func called(namespace string, read, wrote int64) {
	count, _ := calls.LoadOrStore(namespace, &[2]atomic.Int64{})
	count.(*[2]atomic.Int64)[0].Add(read)
	count.(*[2]atomic.Int64)[1].Add(wrote)
}

// callsFor is how often the controller has read, and written, in the namespaces of hosts. Each reconcile begins with a read.
func callsFor(hosts ...*infrav1.ElementalHost) (sum [2]int64) {
	for _, host := range hosts {
		if count, ok := calls.Load(host.Namespace); ok {
			sum[0] += count.(*[2]atomic.Int64)[0].Load()
			sum[1] += count.(*[2]atomic.Int64)[1].Load()
		}
	}
	return sum
}

// counting is the manager's client, with its reads and writes counted.
func counting(mgr ctrl.Manager) client.Client {
	return interceptor.NewClient(server.Client, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			called(key.Namespace, 1, 0)
			return mgr.GetClient().Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return mgr.GetClient().List(ctx, list, options...)
		},
		Patch: func(ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			called(object.GetNamespace(), 0, 1)
			return inner.Patch(ctx, object, patch, options...)
		},
		SubResourcePatch: func(ctx context.Context, inner client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			called(object.GetNamespace(), 0, 1)
			return inner.SubResource(sub).Patch(ctx, object, patch, options...)
		},
	})
}

// settled reports whether nothing has been done for hosts since that was last asked.
func settled(hosts ...*infrav1.ElementalHost) func() bool {
	return apiserver.Rests(func() [2]int64 { return callsFor(hosts...) })
}
