// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepause_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview/clusterviewtest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = DescribeTable("A look for nodes to pause costs the same", func(ctx SpecContext, add func(context.Context, *world)) {
	w := newWorld(ctx, manual)
	w.rollOut(ctx, "new", imageB, manual)
	Expect(w.pauses(ctx)).To(Equal(all), "so that each of its nodes is looked at by itself")
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

var _ = Describe("A look for nodes to pause", func() {
	It("reads no node by itself, of however many, that no rollout pauses and that has no mark", func(ctx SpecContext) {
		w := newWorld(ctx, named("a"))
		w.rollOut(ctx, "new", imageB, named("a"))
		reads := &apiserver.Counting{Client: live}
		w.reconciler.Client = reads
		got := func() int64 {
			GinkgoHelper()
			before := reads.Got()
			w.reconcile(ctx)
			return reads.Got() - before
		}
		few := got()
		for _, name := range []string{"d", "e", "f", "g"} {
			w.add(ctx, ownertest.Machine(w.set, name))
		}
		Expect(got()).To(Equal(few))
		Expect(w.pauses(ctx)).To(Equal(map[string]string{"a": "new by new"}))

		w.annotate(ctx, "g", "lunch")
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(HaveKeyWithValue("g", "lunch by new"))
		Expect(got()).To(BeNumerically(">", few))
		w.annotateMachine(ctx, "f", infrav1.ApprovedRolloutAnnotation, "former")
		w.reconcile(ctx)
		Expect(w.approved(ctx, "f")).To(BeEmpty(), "an approval is looked at without a mark, too")
	})
})
