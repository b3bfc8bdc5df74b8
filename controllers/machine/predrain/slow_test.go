// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predrain_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

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
	It("does not hold up the Machines of another", func(ctx SpecContext) {
		w := newWorld(ctx)
		second := get(ctx, w, "m", &clusterv1.Machine{})
		second.ObjectMeta = w.meta("m2")
		node := second.Status.NodeRef
		Expect(live.Create(ctx, second)).To(Succeed())
		second.Status.NodeRef = node
		Expect(live.Status().Update(ctx, second)).To(Succeed())
		const calls, workers = 10000, 2
		slow := &slowConnector{
			slow: client.ObjectKey{Namespace: w.namespace, Name: "edge"}, held: make(chan client.ObjectKey, calls), rest: make(chan client.ObjectKey, calls),
		}
		mgr, err := server.NewManager()
		Expect(err).NotTo(HaveOccurred())
		w.reconciler.Client, w.reconciler.Workload, w.reconciler.Clusters = mgr.GetClient(), slow, apiserver.SilentClusters{}
		Expect(w.reconciler.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: workers})).To(Succeed())
		stop, err := apiserver.Run(ctx, mgr)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stop)
		Eventually(slow.held).Should(Receive())

		other := newWorld(ctx)
		Eventually(slow.rest).Should(Receive(HaveField("Namespace", other.namespace)))
		Expect(slow.held).NotTo(Receive(), "one Machine of the slow one at a time")
	})
})
