// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepause_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview/clusterviewtest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = DescribeTable("A look for nodes to pause costs the same", func(ctx SpecContext, add func(context.Context, *world)) {
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	lists := &apiserver.Counting{Client: live}
	w.reconciler.Client, w.reconciler.APIReader = lists, lists
	w.reconcile(ctx)
	alone := lists.Listed()
	Expect(alone).To(BeNumerically(">", 0))
	add(ctx, w)
	w.reconcile(ctx)
	Expect(lists.Listed()).To(Equal(alone))
},
	Entry("however many nodes other clusters of the namespace have, and whatever has ended on them", func(ctx context.Context, w *world) {
		Expect(clusterviewtest.AddNodes(ctx, live, w.namespace, "other", 40)).To(Succeed())
	}),
	Entry("whatever former rollouts have left on its own nodes", func(ctx context.Context, w *world) {
		for _, former := range []string{"t-1", "t-2", "t-3"} {
			w.attempt(ctx, "a", former, infrav1.UpgradeSucceeded)
		}
	}),
)
