// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// skews are how far the clocks by which a Node is reported are ahead of the controller's.
var skews = []TableEntry{
	Entry("8 h behind", -8*time.Hour), Entry("1 min behind", -time.Minute), Entry("the same", time.Duration(0)),
	Entry("1 min ahead", time.Minute), Entry("8 h ahead", 8*time.Hour),
}

var _ = Describe("Whatever the clock of a node says,", func() {
	const soak, timeout = 10 * time.Second, 30 * time.Minute

	// later lets time pass, and the controller come to rest.
	later := func(ctx context.Context, w *world, passed time.Duration) {
		GinkgoHelper()
		w.clock.SetTime(w.clock.Now().Add(passed))
		w.rest(ctx)
	}
	// soaking drives an upgrade until its host has found the boot good and the node is watched.
	soaking := func(ctx context.Context, ahead time.Duration) *world {
		GinkgoHelper()
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.agent.ahead, w.agent.stopAt = ahead, infrav1.HostUpgradeRebooting
		w.drive(ctx, nil)
		w.agent.stopAt = ""
		w.agent.tick(ctx) // boots
		w.rest(ctx)
		w.agent.tick(ctx) // finds its boot good
		w.rest(ctx)
		return w
	}
	isWatched := func(ctx context.Context, w *world) {
		GinkgoHelper()
		Expect(w.status(ctx).Message).To(HaveSuffix("is Ready and is watched for 10s"))
	}

	DescribeTable("an upgrade succeeds after the soak", func(ctx SpecContext, ahead time.Duration) {
		w := soaking(ctx, ahead)
		isWatched(ctx, w)
		result, err := w.reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.RequeueAfter).To(Equal(soak))
		later(ctx, w, soak-time.Second)
		isWatched(ctx, w)
		later(ctx, w, time.Second)
		Expect(w.marks(ctx)).To(Equal(clean))
	}, skews)

	DescribeTable("the soak begins again when the node was not Ready in between", func(ctx SpecContext, ahead time.Duration) {
		w := soaking(ctx, ahead)
		later(ctx, w, soak-time.Second)
		setNode(ctx, w.host, "boot-1+", corev1.ConditionTrue, w.clock.Now().Add(ahead))
		later(ctx, w, time.Second)
		isWatched(ctx, w)
		later(ctx, w, soak)
		Expect(w.marks(ctx)).To(Equal(clean))
	}, skews)

	DescribeTable("a controller that was restarted watches the node once more, and no longer", func(ctx SpecContext, ahead time.Duration) {
		w := soaking(ctx, ahead)
		w.restart()
		later(ctx, w, soak-time.Second)
		isWatched(ctx, w)
		later(ctx, w, soak)
		Expect(w.marks(ctx)).To(Equal(clean))
	}, skews)

	DescribeTable("its Machine is left to its health checks when its kubelet has not answered for as long as a reboot may take",
		func(ctx SpecContext, ahead time.Duration) {
			w := newWorld(ctx, infrav1.NodeUpgradeOption{})
			w.agent.ahead, w.agent.down = ahead, true
			w.drive(ctx, func() bool { return hoststate.Ended(w.agent.marker.Phase) })
			setNode(ctx, w.host, "boot-1+", corev1.ConditionFalse, w.clock.Now().Add(ahead))
			later(ctx, w, 2*timeout)
			setNode(ctx, w.host, "boot-1+", corev1.ConditionUnknown, w.clock.Now().Add(ahead))
			w.rest(ctx)
			later(ctx, w, timeout-time.Second)
			Expect(w.marks(ctx).SkipRemediation).To(BeTrue())
			later(ctx, w, time.Second)
			Expect(w.marks(ctx).SkipRemediation).To(BeFalse())
		}, skews)
})
