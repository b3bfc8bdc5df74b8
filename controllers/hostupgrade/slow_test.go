// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("A workload cluster that is slow to answer", func() {
	It("does not hold up the attempts of another", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.addWorker(ctx, w.namespace+"-b")
		w.addUpgrade(ctx, "upgrade-b", w.namespace+"-b", infrav1.NodeUpgradeOption{})
		DeferCleanup(memory.Suspend())
		mgr := server.NewManager(clusterview.AddIndexes)
		slow := apiserver.NewSlowClusters(client.ObjectKey{Namespace: w.namespace, Name: clusterName})
		w.reconciler.Client, w.reconciler.Workload = mgr.GetClient(), slow
		const workers = 2
		Expect(w.reconciler.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: workers})).To(Succeed())
		server.Run(mgr)
		Eventually(slow.Held).Should(Receive())

		Expect(live.Create(ctx, &clusterv1.Cluster{ObjectMeta: w.meta("other"), Spec: clusterv1.ClusterSpec{
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalCluster", Name: "other"},
		}})).To(Succeed())
		other := &infrav1.ElementalHostUpgrade{ObjectMeta: w.meta("upgrade-other"), Spec: get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).Spec}
		other.Spec.ClusterName = "other"
		Expect(live.Create(ctx, other)).To(Succeed())
		Eventually(slow.Rest).Should(Receive(HaveField("Name", "other")))
		Expect(slow.Held).NotTo(Receive(), "one attempt of the slow one at a time")
	})
})
