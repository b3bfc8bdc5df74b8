// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predrain_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("A workload cluster that is slow to answer", func() {
	It("does not hold up the Machines of another", func(ctx SpecContext) {
		w := newWorld(ctx)
		second := get(ctx, w, "m", &clusterv1.Machine{})
		second.ObjectMeta = w.meta("m2")
		node := second.Status.NodeRef
		Expect(live.Create(ctx, second)).To(Succeed())
		second.Status.NodeRef = node
		Expect(live.Status().Update(ctx, second)).To(Succeed())
		const workers = 2
		slow := apiserver.NewSlowClusters(client.ObjectKey{Namespace: w.namespace, Name: "edge"})
		mgr := server.NewManager()
		w.reconciler.Client, w.reconciler.Workload, w.reconciler.Clusters = mgr.GetClient(), slow, apiserver.SilentClusters{}
		Expect(w.reconciler.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: workers})).To(Succeed())
		server.Run(mgr)
		Eventually(slow.Held).Should(Receive())

		other := newWorld(ctx)
		Eventually(slow.Rest).Should(Receive(HaveField("Namespace", other.namespace)))
		Expect(slow.Held).NotTo(Receive(), "one Machine of the slow one at a time")
	})
})
