// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Rule of the clusterctl contract: "Move", block-move.
var _ = Describe("A paused Cluster can be moved, unless the host is on its way, and the attempt goes on afterwards:", func() {
	pause := func(ctx context.Context, w *world, paused bool) {
		GinkgoHelper()
		change(ctx, w, clusterName, &clusterv1.Cluster{}, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = &paused })
	}

	atEachHold(func(ctx context.Context, h hold) {
		w := held(ctx, h)
		before := w.marks(ctx)
		pause(ctx, w, true)
		for range 2 { // the first one says that it is paused
			_, err := w.reconcile(ctx)
			Expect(err).NotTo(HaveOccurred())
		}
		paused := before
		paused.BlockMove = before.Label == infrav1.InPlaceUpgradePending
		Expect(w.marks(ctx)).To(Equal(paused), "nothing else is touched")

		pause(ctx, w, false)
		h.lift(ctx, w)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(w.faults.triggers).To(HaveLen(1))
	})
})
