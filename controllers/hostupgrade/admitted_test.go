// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = Describe("An upgrade whose node is being drained", func() {
	// draining is held by a PodDisruptionBudget, beside another node.
	draining := func(ctx context.Context) *world {
		GinkgoHelper()
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.addWorker(ctx, w.namespace+"-b")
		guardPod(ctx, w)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Position()).To(Equal("Drain (7/14)"))
		return w
	}
	preflight := func(ctx context.Context, w *world) []infrav1.PreflightResult {
		GinkgoHelper()
		return get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).Status.Preflight
	}

	It("goes on when another node goes down, and says so", func(ctx SpecContext) {
		w := draining(ctx)
		setNode(ctx, w.namespace+"-b", "boot-1", corev1.ConditionFalse, began)
		w.rest(ctx)
		Expect(w.status(ctx).Position()).To(Equal("Drain (7/14)"))
		Expect(preflight(ctx, w)).To(ConsistOf(And(HaveField("Check", "OtherNodes"), HaveField("Verdict", infrav1.PreflightWarn))))
		allowEviction(ctx, w)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
	})

	It("is held when its host is not approved any more", func(ctx SpecContext) {
		w := draining(ctx)
		host := get(ctx, w, w.host, &infrav1.ElementalHost{})
		host.Spec.Approved = false
		Expect(live.Update(ctx, host)).To(Succeed())
		allowEviction(ctx, w)
		w.rest(ctx)
		Expect(w.status(ctx).Position()).To(Equal("Preflight (1/14)"))
		Expect(preflight(ctx, w)).To(ConsistOf(And(HaveField("Check", "Approved"), HaveField("Verdict", infrav1.PreflightBlock))))
		Expect(w.faults.triggers).To(BeEmpty())
	})
})
