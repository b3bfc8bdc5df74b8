// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pause_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

var _ = Describe("A rollout that is aborted while nodes are paused", func() {
	It("leaves no mark when the old image is patched back", func(ctx SpecContext) {
		p := newPool(ctx, workers, 1, manual)
		p.rollOut(ctx, image.OS{})
		p.awaitPaused(ctx, p.nodes...)
		Eventually(p.waiting).WithContext(ctx).Should(Equal(p.nodes))

		Expect(cluster.PatchPool(ctx, p.name, runs[p.name])).To(Succeed())
		Eventually(pauses).WithContext(ctx).Should(BeEmpty())
		Consistently(pauses, calm).WithContext(ctx).Should(BeEmpty(), "nothing is to be upgraded")
		Expect(cluster.AwaitPool(ctx, p.name, runs[p.name])).To(Succeed())
		p.expectClean(ctx)
	})
})

var _ = Describe("An attempt that is cancelled or deleted while its node is paused", func() {
	phase := func(ctx context.Context, name string) (infrav1.UpgradePhase, error) {
		attempt := &infrav1.ElementalHostUpgrade{}
		err := theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: name}, attempt)
		return attempt.Status.Phase, err
	}

	It("leaves no pause, and its retry is paused again, because it is not approved", func(ctx SpecContext) {
		p := newPool(ctx, single, 1, manual)
		node := p.nodes[0]
		p.rollOut(ctx, image.OS{})
		Eventually(p.waiting).WithContext(ctx).Should(Equal(p.nodes))
		attempts, err := p.attempts(ctx)
		Expect(err).NotTo(HaveOccurred())
		attempt := attempts[node]

		By("cancelling it")
		_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "elementalhostupgrade", attempt.Name, "--type", "merge", "--patch", `{"spec":{"cancel":true}}`)
		Expect(err).NotTo(HaveOccurred())
		Eventually(phase).WithContext(ctx).WithArguments(attempt.Name).Should(Equal(infrav1.UpgradeAborted))
		Eventually(pauses).WithContext(ctx).Should(BeEmpty())
		Consistently(pauses, calm).WithContext(ctx).Should(BeEmpty())
		Eventually(p.marks).WithContext(ctx).WithArguments(node).Should(Or(
			Equal(scenario.Marks{}), Equal(scenario.Clean)))

		By("deleting it, which is a retry")
		_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "delete", "elementalhostupgrade", attempt.Name)
		Expect(err).NotTo(HaveOccurred())
		Eventually(p.waiting).WithContext(ctx).Should(Equal(p.nodes))
		p.awaitPaused(ctx, node)

		By("approving the retry")
		resume(ctx, node)
		p.expectUpgraded(ctx)
	})
})
