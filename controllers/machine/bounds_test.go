// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview/clusterviewtest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("An idle machine", func() {
	It("lists nothing, however many nodes its cluster and its namespace have, and whatever has ended on them", func(ctx SpecContext) {
		w := newWorld(ctx)
		set := w.rolling(ctx)
		idle, _ := w.running(ctx, "m1", inPool)
		w.ownedBy(ctx, set, "m1")
		listed := func() (objects int64) {
			GinkgoHelper()
			// A Node that is seen, or a reconcile of before, reads the machine too: it is measured again then.
			Eventually(func() int64 {
				Eventually(settled(idle)).WithPolling(apiserver.Settling).MustPassRepeatedly(2).Should(BeTrue())
				before := reconcilesOf(idle)
				lists.Listed()
				apiserver.Change(ctx, server.Client, idle, func() { idle.Annotations["test"] = time.Now().String() })
				Eventually(func() int64 { return reconcilesOf(idle) }).Should(BeNumerically(">", before))
				Eventually(settled(idle)).WithPolling(apiserver.Settling).MustPassRepeatedly(2).Should(BeTrue())
				objects = lists.Listed()
				return reconcilesOf(idle) - before
			}).Should(BeEquivalentTo(1))
			return objects
		}
		// An event of another object may list in between: what a reconcile itself lists is there each time.
		Eventually(listed).Should(BeZero())
		for _, cluster := range []string{idle.Labels[clusterv1.ClusterNameLabel], "other"} {
			Expect(clusterviewtest.AddNodes(ctx, server.Client, w.ns, cluster, 40)).To(Succeed())
		}
		Eventually(func() (int, error) {
			seen := &infrav1.ElementalHostUpgradeList{}
			err := cached.List(ctx, seen, client.InNamespace(w.ns))
			return len(seen.Items), err
		}).Should(Equal(80))
		Eventually(listed).Should(BeZero())
	})
})
