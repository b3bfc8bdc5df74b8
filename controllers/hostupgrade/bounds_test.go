// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts/attemptstest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview/clusterviewtest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// succeed leads the attempt to its end.
func (w *world) succeed(ctx context.Context) {
	GinkgoHelper()
	const ticks = 20
	for range ticks {
		w.rest(ctx)
		if w.status(ctx).Phase == infrav1.UpgradeSucceeded {
			return
		}
		w.agent.tick(ctx)
		w.clock.SetTime(w.clock.Now().Add(time.Second))
	}
	Fail("it has not succeeded: " + w.status(ctx).Message)
}

var _ = Describe("An upgrade of one node", func() {
	It("lists as much whatever has ended in its cluster and in its namespace, and however many nodes that has", func(ctx SpecContext) {
		listed := func(past int) int64 {
			GinkgoHelper()
			w := newWorld(ctx, infrav1.NodeUpgradeOption{})
			for _, cluster := range []string{clusterName, "other"} {
				Expect(attemptstest.AddHistory(ctx, live, w.namespace, cluster, past)).To(Succeed())
			}
			Expect(clusterviewtest.AddNodes(ctx, live, w.namespace, "another", past)).To(Succeed())
			lists := &apiserver.Counting{Client: w.reconciler.Client}
			liveLists := &apiserver.Counting{Client: live}
			w.reconciler.Client, w.reconciler.APIReader = lists, liveLists
			w.succeed(ctx)
			removeClusterScoped(ctx)
			return lists.Listed() + liveLists.Listed()
		}
		alone := listed(0)
		Expect(alone).To(BeNumerically(">", 0))
		Expect(listed(40)).To(Equal(alone))
	})
})
