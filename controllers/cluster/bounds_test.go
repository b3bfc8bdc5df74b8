// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview/clusterviewtest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// quiet is how many times in a row the controller has to rest: together for longer than it waits after a change.
const quiet = 5

var _ = Describe("A cluster's status line", func() {
	It("costs the same however many nodes other clusters of its namespace have, and whatever has ended on them", func(ctx SpecContext) {
		p := makePool(ctx)
		Eventually(p.says(ctx)).Should(HavePrefix("NodesUpToDate: 2 of 2 nodes"))
		drift := func(image, said string) int64 {
			GinkgoHelper()
			Eventually(lists.Rests).WithPolling(apiserver.Settling).MustPassRepeatedly(quiet).Should(BeTrue())
			lists.Listed()
			apiserver.ChangeStatus(ctx, server.Client, p.hosts[0], func() { p.hosts[0].Status.OS.ImageURI, p.hosts[0].Status.OS.Digest = image, "" })
			Eventually(p.says(ctx)).Should(ContainSubstring(said))
			Eventually(lists.Rests).WithPolling(apiserver.Settling).MustPassRepeatedly(quiet).Should(BeTrue())
			return lists.Listed()
		}
		alone := drift(v2Image, "1 of 2 nodes")
		drift(v1Image, "2 of 2 nodes")
		Expect(clusterviewtest.AddNodes(ctx, server.Client, p.cluster.Namespace, "other", 40)).To(Succeed())
		Eventually(func() (int, error) {
			seen := &infrav1.ElementalHostUpgradeList{}
			err := cached.List(ctx, seen, client.InNamespace(p.cluster.Namespace))
			return len(seen.Items), err
		}).Should(Equal(40))
		Expect(drift(v2Image, "1 of 2 nodes")).To(Equal(alone))
	})
})

var _ = Describe("The failure domains of a cluster", func() {
	It("are not looked at for a host of another", func(ctx SpecContext) {
		p := makePool(ctx)
		Eventually(p.says(ctx)).Should(HavePrefix("NodesUpToDate: 2 of 2 nodes"))
		Eventually(lists.Rests).WithPolling(apiserver.Settling).MustPassRepeatedly(quiet).Should(BeTrue())
		lists.Listed()
		theirs := addHost(ctx, p.cluster.Namespace, "theirs", "a", func(h *infrav1.ElementalHost) { h.Labels[clusterv1.ClusterNameLabel] = "other" })
		Eventually(func() error { return cached.Get(ctx, client.ObjectKeyFromObject(theirs), theirs) }).Should(Succeed())
		Consistently(lists.Listed, "3s").Should(BeZero())
	})
})
