// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

const otherCluster = "other-cluster"

// quarantineElsewhere has the image in the quarantine of another ElementalCluster of the namespace.
func quarantineElsewhere(ctx context.Context, w *world, digests ...string) {
	GinkgoHelper()
	other := &infrav1.ElementalCluster{ObjectMeta: w.meta(otherCluster)}
	other.Spec.Quarantine = quarantinedBy("host-y", digests...)
	Expect(live.Create(ctx, other)).To(Succeed())
}

// pinned is a world whose rollout has its digest.
func pinned(ctx context.Context) *world {
	GinkgoHelper()
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	w.pin(ctx, newDigest)
	return w
}

var _ = Describe("An image that a host of another cluster of the namespace rolled back from", func() {
	const says = "Image/" + newDigest + ": is quarantined by ElementalCluster " + otherCluster + " because it failed on ElementalHost host-y"

	It("is offered to no host until that is lifted there", func(ctx SpecContext) {
		w := pinned(ctx)
		quarantineElsewhere(ctx, w, "sha256:older", newDigest)
		w.drive(ctx, nil)
		Expect(w.marks(ctx).Asked).To(BeFalse())
		Expect(w.status(ctx).Message).To(HavePrefix(says))

		change(ctx, w, otherCluster, &infrav1.ElementalCluster{}, func(c *infrav1.ElementalCluster) {
			c.Spec.Quarantine = quarantinedBy("host-y", "sha256:older")
		})
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	It("is offered where the check is waived, and stays in quarantine there", func(ctx SpecContext) {
		w := pinned(ctx)
		quarantineElsewhere(ctx, w, newDigest)
		change(ctx, w, clusterName, &infrav1.ElementalCluster{}, func(c *infrav1.ElementalCluster) {
			c.Spec.SkipPreflight = []infrav1.PreflightCheck{"Quarantine"}
		})
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(get(ctx, w, otherCluster, &infrav1.ElementalCluster{}).Spec.Quarantine).To(HaveLen(1))
	})

	It("is held before the slot is taken, whatever the cache has", func(ctx SpecContext) {
		w := pinned(ctx)
		w.reconciler.Client = withoutOthers{w.reconciler.Client}
		quarantineElsewhere(ctx, w, newDigest)
		w.drive(ctx, nil)
		Expect(w.slots(ctx)).To(BeEmpty())
		Expect(w.status(ctx)).To(And(HaveField("Position()", "Admit (4/14)"), HaveField("Message", HavePrefix(says))))
	})
})

// withoutOthers is a cache that lists no ElementalClusters yet.
type withoutOthers struct{ client.Client }

func (c withoutOthers) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, isOf := list.(*infrav1.ElementalClusterList); isOf {
		return nil
	}
	return c.Client.List(ctx, list, options...)
}
