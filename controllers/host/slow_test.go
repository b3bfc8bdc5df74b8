// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("A workload cluster that is slow to answer", func() {
	// others are looked after by the controller of this spec alone.
	const others = "slow"
	// leaving makes a host that was reset and waits for its Node to be deleted.
	leaving := func(ctx SpecContext, changes ...func(*infrav1.ElementalHost)) *infrav1.ElementalHost {
		GinkgoHelper()
		changes = append([]func(*infrav1.ElementalHost){released}, changes...)
		made := makeHost(ctx, append(changes, func(h *infrav1.ElementalHost) { h.Labels[clusterv1.WatchLabel] = others })...)
		apiserver.ChangeStatus(ctx, server.Client, made, func() { made.Status.Phase = infrav1.HostPhaseReset })
		return made
	}

	It("does not hold up the hosts that leave another", func(ctx SpecContext) {
		first, second := leaving(ctx), &infrav1.ElementalHost{}
		first.DeepCopyInto(second)
		second.Name, second.ResourceVersion, second.UID = "h2", "", ""
		status := second.Status
		Expect(server.Client.Create(ctx, second)).To(Succeed())
		apiserver.ChangeStatus(ctx, server.Client, second, func() { second.Status = status })
		for _, h := range []*infrav1.ElementalHost{first, second} {
			Expect(server.Client.Delete(ctx, h)).To(Succeed())
		}
		makeCluster(ctx, first.Namespace)
		const workers = 2
		slow := apiserver.NewSlowClusters(client.ObjectKey{Namespace: first.Namespace, Name: "c1"})
		mgr := server.NewManager(association.AddIndexes, clusterview.AddIndexes)
		Expect((&host.Reconciler{Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Workload: slow, Clock: clock, WatchFilterValue: others}).
			SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: workers})).To(Succeed())
		server.Run(mgr)
		Eventually(slow.Held).Should(Receive())

		other := leaving(ctx)
		makeCluster(ctx, other.Namespace)
		Expect(server.Client.Delete(ctx, other)).To(Succeed())
		Eventually(slow.Rest).Should(Receive(HaveField("Namespace", other.Namespace)))
		Expect(slow.Held).NotTo(Receive(), "one host of the slow one at a time")
	})
})
