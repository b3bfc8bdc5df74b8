// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pause_test

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

var manual = infrav1.NodeUpgradeStrategy{Mode: infrav1.NodeUpgradeModeManual}

var _ = Describe("Two of three nodes that are paused", func() {
	It("stay paused while the third is upgraded, whatever maxUnavailable says, and continue when they are resumed", func(ctx SpecContext) {
		p := newPool(ctx, workers, 1, manual)
		held := p.nodes[1:]
		p.setOptions(ctx, infrav1.NodeUpgradeStrategy{Mode: infrav1.NodeUpgradeModeManual, PauseNodes: append(slices.Clone(held), "nowhere")})
		p.rollOut(ctx, image.OS{})
		p.awaitPaused(ctx, held...)
		Eventually(said(infrav1.PauseNodesKnownCondition)).WithContext(ctx).Should(HaveValue(And(
			HaveField("Status", metav1.ConditionFalse),
			HaveField("Message", ContainSubstring("names nowhere, which is no node of the cluster: annotate the Node")))))
		p.setOptions(ctx, infrav1.NodeUpgradeStrategy{Mode: infrav1.NodeUpgradeModeAuto}) // does not affect this rollout

		Eventually(p.runsWanted).WithContext(ctx).WithArguments(p.nodes[0]).Should(BeTrue(), "it is not held up")
		Eventually(p.waiting).WithContext(ctx).Should(Equal(held))
		Eventually(cordoned).WithContext(ctx).Should(BeEmpty())
		Consistently(cordoned, calm).WithContext(ctx).Should(BeEmpty(), "paused nodes are schedulable")
		Expect(p.marks(ctx, held[0])).To(HaveField("Slots", 0), "and hold no slot")

		resume(ctx, held[0])
		Eventually(p.runsWanted).WithContext(ctx).WithArguments(held[0]).Should(BeTrue(), "resumed by its annotation")
		Eventually(p.waiting).WithContext(ctx).Should(Equal(held[1:]))
		Expect(p.runsWanted(ctx, held[1])).To(BeFalse())
		p.approve(ctx, held[1])
		p.expectUpgraded(ctx)
		Eventually(said(infrav1.PauseNodesKnownCondition)).WithContext(ctx).Should(Or(BeNil(), HaveField("Status", metav1.ConditionTrue)))
	})
})

var _ = Describe("A pool of which every node is paused", func() {
	It("has all of them wait, and continues with each that is resumed", func(ctx SpecContext) {
		p := newPool(ctx, workers, 1, manual)
		p.rollOut(ctx, image.OS{})
		p.awaitPaused(ctx, p.nodes...)
		Eventually(p.waiting).WithContext(ctx).Should(Equal(p.nodes))
		rollout, err := p.rollout(ctx)
		Expect(err).NotTo(HaveOccurred())

		resume(ctx, p.nodes[1])
		Eventually(p.runsWanted).WithContext(ctx).WithArguments(p.nodes[1]).Should(BeTrue())
		Consistently(pauses, calm).WithContext(ctx).Should(Equal(pausedBy(rollout, p.nodes[0], p.nodes[2])), "it is not put back")
		Expect(p.waiting(ctx)).To(Equal([]string{p.nodes[0], p.nodes[2]}))
		resume(ctx, p.nodes[2])
		resume(ctx, p.nodes[0])
		p.expectUpgraded(ctx)
	})
})

var _ = Describe("A pool of one node", func() {
	DescribeTable("is paused, and continues", func(ctx SpecContext, maxUnavailable int, goOn func(SpecContext, *pool)) {
		p := newPool(ctx, single, maxUnavailable, manual)
		p.rollOut(ctx, image.OS{})
		p.awaitPaused(ctx, p.nodes...)
		Eventually(p.waiting).WithContext(ctx).Should(Equal(p.nodes))
		goOn(ctx, p)
		p.expectUpgraded(ctx)
	},
		Entry("when its annotation is removed, with maxUnavailable 1", 1, func(ctx SpecContext, p *pool) { resume(ctx, p.nodes[0]) }),
		Entry("when it is approved, with maxUnavailable 3", 3, func(ctx SpecContext, p *pool) { p.approve(ctx, p.nodes[0]) }),
		Entry("when it was resumed while the manager was dead", 1, func(ctx SpecContext, p *pool) {
			theLab.Provider.Process.Kill()
			resume(ctx, p.nodes[0])
			Expect(theLab.Provider.Process.Restart()).To(Succeed())
			Expect(theLab.Provider.AwaitReady(ctx)).To(Succeed())
		}),
	)

	It("is paused by a person's annotation in mode auto, whatever its value", func(ctx SpecContext) {
		p := newPool(ctx, single, 1, infrav1.NodeUpgradeStrategy{Mode: infrav1.NodeUpgradeModeAuto})
		_, err := theLab.WorkloadKubectl(ctx, "annotate", "node", p.nodes[0], infrav1.NodeUpgradePauseAnnotation+"=lunch")
		Expect(err).NotTo(HaveOccurred())
		p.rollOut(ctx, image.OS{})
		Eventually(p.waiting).WithContext(ctx).Should(Equal(p.nodes))
		Expect(cordoned(ctx)).To(BeEmpty())
		resume(ctx, p.nodes[0])
		p.expectUpgraded(ctx)
	})
})
