// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// slowConnector does not answer for one cluster before ctx ends, and tells of the calls for the others.
type slowConnector struct {
	slow       client.ObjectKey
	held, rest chan client.ObjectKey
}

func (s *slowConnector) Connect(ctx context.Context, cluster client.ObjectKey) (*workload.Cluster, error) {
	if cluster != s.slow {
		s.rest <- cluster
		return nil, workload.ErrUnreachable
	}
	s.held <- cluster
	<-ctx.Done()
	return nil, ctx.Err()
}

var _ = Describe("A workload cluster that is slow to answer", func() {
	It("does not hold up the attempts of another", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.addWorker(ctx, w.namespace+"-b")
		w.addUpgrade(ctx, "upgrade-b", w.namespace+"-b", infrav1.NodeUpgradeOption{})
		DeferCleanup(memory.Suspend())
		mgr, err := server.NewManager()
		Expect(err).NotTo(HaveOccurred())
		const calls = 10000
		slow := &slowConnector{
			slow: client.ObjectKey{Namespace: w.namespace, Name: clusterName}, held: make(chan client.ObjectKey, calls), rest: make(chan client.ObjectKey, calls),
		}
		w.reconciler.Client, w.reconciler.Workload = mgr.GetClient(), slow
		Expect(clusterview.AddIndexes(ctx, mgr.GetFieldIndexer())).To(Succeed())
		const workers = 2
		Expect(w.reconciler.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: workers})).To(Succeed())
		stop, err := apiserver.Run(ctx, mgr)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stop)
		Eventually(slow.held).Should(Receive())

		Expect(live.Create(ctx, &clusterv1.Cluster{ObjectMeta: w.meta("other"), Spec: clusterv1.ClusterSpec{
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalCluster", Name: "other"},
		}})).To(Succeed())
		other := &infrav1.ElementalHostUpgrade{ObjectMeta: w.meta("upgrade-other"), Spec: get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).Spec}
		other.Spec.ClusterName = "other"
		Expect(live.Create(ctx, other)).To(Succeed())
		Eventually(slow.rest).Should(Receive(HaveField("Name", "other")))
		Expect(slow.held).NotTo(Receive(), "one attempt of the slow one at a time")
	})
})
