// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/machine"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// slowCache does not answer for one cluster before ctx ends, and tells of the calls for the others.
type slowCache struct {
	apiserver.SilentClusters
	slow       client.ObjectKey
	held, rest chan client.ObjectKey
}

func (s *slowCache) GetClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error) {
	if cluster != s.slow {
		s.rest <- cluster
		return nil, clustercache.ErrClusterNotConnected
	}
	s.held <- cluster
	<-ctx.Done()
	return nil, ctx.Err()
}

var _ = Describe("A workload cluster that is slow to answer", func() {
	// others are looked after by the controller of this spec alone.
	const others = "slow"
	associated := func(ctx SpecContext, w *world, name string) *infrav1.ElementalMachine {
		GinkgoHelper()
		w.host(ctx, name, func(h *infrav1.ElementalHost) { h.Labels[clusterv1.WatchLabel] = others })
		made := w.machine(ctx, name, func(m *infrav1.ElementalMachine) { m.Labels[clusterv1.WatchLabel] = others })
		Eventually(get(ctx, made)).Should(HaveField("Spec.HostRef", Not(BeNil())))
		return made
	}

	It("does not hold up the machines of another", func(ctx SpecContext) {
		w := newWorld(ctx)
		mgr, err := server.NewManager()
		Expect(err).NotTo(HaveOccurred())
		const calls, workers = 10000, 2
		slow := &slowCache{
			slow: client.ObjectKeyFromObject(w.cluster), held: make(chan client.ObjectKey, calls), rest: make(chan client.ObjectKey, calls),
		}
		Expect(attempts.AddIndexes(ctx, mgr.GetFieldIndexer())).To(Succeed())
		Expect((&machine.Reconciler{
			Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), ClusterCache: slow, Clock: clock, WatchFilterValue: others,
		}).SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: workers})).To(Succeed())
		stop, err := apiserver.Run(ctx, mgr)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stop)
		associated(ctx, w, "m1")
		Eventually(slow.held).Should(Receive())
		waiting := associated(ctx, w, "m2")
		Eventually(get(ctx, waiting)).Should(haveCondition(infrav1.ProviderIDReadyCondition, "False", infrav1.WorkloadClusterUnreachableReason))

		other := newWorld(ctx)
		associated(ctx, other, "m3")
		Eventually(slow.rest).Should(Receive(Equal(client.ObjectKeyFromObject(other.cluster))))
		Expect(slow.held).NotTo(Receive(), "one machine of the slow one at a time")
	})
})
