// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/machine"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("A workload cluster that is slow to answer", func() {
	// others are looked after by the controller of this spec alone.
	const others = "slow"
	associated := func(ctx SpecContext, w *world, name string) *infrav1.ElementalMachine {
		GinkgoHelper()
		w.host(ctx, name, func(h *infrav1.ElementalHost) { h.Labels[clusterv1.WatchLabel] = others })
		made := w.machine(ctx, name, func(m *infrav1.ElementalMachine) { m.Labels[clusterv1.WatchLabel] = others })
		Eventually(server.Stored(ctx, made)).Should(HaveField("Spec.HostRef", Not(BeNil())))
		return made
	}

	It("does not hold up the machines of another", func(ctx SpecContext) {
		w := newWorld(ctx)
		mgr := server.NewManager(clusterview.AddIndexes)
		const workers = 2
		slow := apiserver.NewSlowClusters(client.ObjectKeyFromObject(w.cluster))
		Expect((&machine.Reconciler{
			Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), ClusterCache: slow, Clock: clock, WatchFilterValue: others,
		}).SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: workers})).To(Succeed())
		server.Run(mgr)
		associated(ctx, w, "m1")
		Eventually(slow.Held).Should(Receive())
		waiting := associated(ctx, w, "m2")
		Eventually(server.Stored(ctx, waiting)).Should(apiserver.HaveCondition(infrav1.ProviderIDReadyCondition, "False", infrav1.WorkloadClusterUnreachableReason))

		other := newWorld(ctx)
		associated(ctx, other, "m3")
		Eventually(slow.Rest).Should(Receive(Equal(client.ObjectKeyFromObject(other.cluster))))
		Expect(slow.Held).NotTo(Receive(), "one machine of the slow one at a time")
	})
})
