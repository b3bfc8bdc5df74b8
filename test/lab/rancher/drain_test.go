// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
)

// worker is the machine that is drained. The other one, the control plane, has no drain options.
const worker = 1

var _ = Describe("A drain", func() {
	hooked := rancher.DrainOptions{Enabled: true}.WithHooks(pre, post)

	It("is asked for, answered, done, and answered again (case A)", func(ctx SpecContext) {
		w := newWorld(ctx, workersWith(hooked), "cp", "node")
		pod := w.addPod(ctx, worker, "web")
		expected := token(hooked)
		w.raise(ctx)

		By("waiting for the hook before it")
		Eventually(w.annotations(worker)).WithContext(ctx).Should(And(
			HaveKeyWithValue(rancher.DrainOptionsAnnotation, expected), HaveKeyWithValue(rancher.PreDrainAnnotation, expected)))
		Expect(w.isCordoned(worker)(ctx)).To(BeTrue(), "it is cordoned before it is asked for")
		Consistently(w.annotations(worker), calm, look).WithContext(ctx).ShouldNot(HaveKey(rancher.DrainDoneAnnotation))
		Expect(pod(ctx)).To(BeTrue())
		Expect(w.said(ctx)).To(Equal("False: draining worker node(s) " + w.machines[worker].Name + ": draining node"))

		By("waiting for the hook after it")
		w.answer(ctx, worker, pre)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(And(
			HaveKeyWithValue(rancher.DrainDoneAnnotation, expected), HaveKeyWithValue(rancher.UncordonAnnotation, expected),
			HaveKeyWithValue(rancher.PostDrainAnnotation, expected)))
		Expect(pod(ctx)).To(BeFalse())
		Consistently(w.isCordoned(worker), calm, look).WithContext(ctx).Should(BeTrue())

		By("ending")
		w.answer(ctx, worker, post)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(haveNone())
		Expect(w.isCordoned(worker)(ctx)).To(BeFalse())
		w.awaitRolled(ctx)
		Expect(w.annotations(0)(ctx)).To(haveNone())
	})

	It("is not withdrawn when its cause is reverted: both hooks have to answer, and the node is drained (case C)", func(ctx SpecContext) {
		w := newWorld(ctx, workersWith(hooked), "cp", "node")
		pod := w.addPod(ctx, worker, "web")
		w.raise(ctx)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKey(rancher.PreDrainAnnotation))
		Expect(played.Revert(ctx, w.key)).To(Succeed())
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKey(rancher.UncordonAnnotation))
		Consistently(w.annotations(worker), calm, look).WithContext(ctx).ShouldNot(Or(
			HaveKey(rancher.DrainDoneAnnotation), HaveKey(rancher.PostDrainAnnotation)))
		Expect(pod(ctx)).To(BeTrue())
		Expect(w.isCordoned(worker)(ctx)).To(BeTrue())

		w.answer(ctx, worker, pre)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKey(rancher.PostDrainAnnotation))
		Expect(pod(ctx)).To(BeFalse())
		w.answer(ctx, worker, post)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(haveNone())
	})

	It("takes an answer that was left behind for its own (case D)", func(ctx SpecContext) {
		w := newWorld(ctx, workersWith(hooked), "cp", "node")
		Expect(rancher.Annotate(ctx, server.Client, rancher.PlanSecret(w.machines[worker]), pre, token(hooked))).To(Succeed())
		w.raise(ctx)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKey(rancher.PostDrainAnnotation))
		w.answer(ctx, worker, post)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(haveNone())
	})

	It("begins again when its options change, even after it is done (case E)", func(ctx SpecContext) {
		w := newWorld(ctx, workersWith(hooked), "cp", "node")
		w.raise(ctx)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKey(rancher.PreDrainAnnotation))
		changed := hooked
		changed.Timeout = 120
		Expect(played.SetDrainOptions(ctx, w.key, rancher.DrainOptions{}, changed)).To(Succeed())
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKeyWithValue(rancher.PreDrainAnnotation, token(changed)))

		By("not taking the answer to the former options")
		secret := rancher.PlanSecret(w.machines[worker])
		Expect(rancher.Annotate(ctx, server.Client, secret, pre, token(hooked))).To(Succeed())
		Consistently(w.annotations(worker), calm, look).WithContext(ctx).ShouldNot(HaveKey(rancher.DrainDoneAnnotation))

		By("being done while the plan cannot be delivered")
		w.pause(ctx, true)
		w.answer(ctx, worker, pre)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKeyWithValue(rancher.DrainDoneAnnotation, token(changed)))
		Expect(played.SetDrainOptions(ctx, w.key, rancher.DrainOptions{}, hooked)).To(Succeed())
		w.awaitStrategy(ctx, hooked)
		Expect(rancher.Annotate(ctx, server.Client, secret, pre, "void")).To(Succeed())
		w.pause(ctx, false)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKeyWithValue(rancher.PreDrainAnnotation, token(hooked)))
		Consistently(w.annotations(worker), calm, look).WithContext(ctx).Should(HaveKeyWithValue(rancher.DrainDoneAnnotation, token(changed)))
		w.answer(ctx, worker, pre)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKey(rancher.PostDrainAnnotation))
		w.answer(ctx, worker, post)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(haveNone())
	})

	It("asks its hooks without evicting anything if it is not enabled (case G)", func(ctx SpecContext) {
		w := newWorld(ctx, workersWith(rancher.DrainOptions{}.WithHooks(pre, post)), "cp", "node")
		pod := w.addPod(ctx, worker, "web")
		w.raise(ctx)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKey(rancher.PreDrainAnnotation))
		Expect(w.isCordoned(worker)(ctx)).To(BeTrue())
		w.answer(ctx, worker, pre)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKey(rancher.PostDrainAnnotation))
		w.answer(ctx, worker, post)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(haveNone())
		Expect(pod(ctx)).To(BeTrue())
		Expect(w.isCordoned(worker)(ctx)).To(BeFalse())
	})
})
