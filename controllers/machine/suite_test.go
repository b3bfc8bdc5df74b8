// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/machine"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/elementaloperator"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestMachine(t *testing.T) {
	specs.Run(t, "ElementalMachine Controller Suite")
}

var (
	server *apiserver.Server
	// workload is the workload cluster: Nodes of the same API server.
	workload *workloadCache
	// clock of the controller.
	clock *clocktesting.FakePassiveClock
	// lists of the controller.
	lists *apiserver.Counting
	// cached is what the controller has seen.
	cached client.Reader
)

// watchFilter is what the controller under test looks after.
const watchFilter = "tested"

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultConsistentlyDuration(time.Second)
	server = apiserver.StartForSuite()
	Expect(elementaloperator.Install(server.Config)).To(Succeed())

	mgr := server.NewManager(clusterview.AddIndexes)
	workload, cached = newWorkloadCache(mgr), mgr.GetCache()
	clock = clocktesting.NewFakePassiveClock(time.Now())
	lists = &apiserver.Counting{Client: mgr.GetClient()}
	Expect((&machine.Reconciler{
		Client:           counting{lists},
		APIReader:        mgr.GetAPIReader(),
		ClusterCache:     workload,
		Clock:            clock,
		WatchFilterValue: watchFilter,
	}).SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: 10})).To(Succeed())
	server.Run(mgr)
})

// reads counts the reconciles of each ElementalMachine, by its key: each begins with its read.
var reads sync.Map

func reconcilesOf(machine *infrav1.ElementalMachine) int64 {
	count, _ := reads.LoadOrStore(client.ObjectKeyFromObject(machine), &atomic.Int64{})
	return count.(*atomic.Int64).Load()
}

// late has the ElementalMachines that the controller sees once more as they were, as if its cache were late, by their key.
var late sync.Map

// counting is the manager's client, with its reads of ElementalMachines counted, and late.
type counting struct{ client.Client }

func (c counting) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, isMachine := object.(*infrav1.ElementalMachine); isMachine {
		count, _ := reads.LoadOrStore(key, &atomic.Int64{})
		count.(*atomic.Int64).Add(1)
		if former, isLate := late.LoadAndDelete(key); isLate {
			former.(*infrav1.ElementalMachine).DeepCopyInto(object.(*infrav1.ElementalMachine))
			return nil
		}
	}
	return c.Client.Get(ctx, key, object, options...)
}

// settled reports whether a machine has not been reconciled since that was last asked.
func settled(machine *infrav1.ElementalMachine) func() bool {
	return apiserver.Rests(func() int64 { return reconcilesOf(machine) })
}
