// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/storage"
)

var _ = Describe("What is listed in a workload cluster", Ordered, func() {
	var longhorn *storage.Longhorn

	BeforeAll(func(ctx SpecContext) {
		var err error
		longhorn, err = storage.NewLonghorn(ctx, live, clock.RealClock{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) error { return storage.Uninstall(ctx, live) })
	})

	// degrade makes a volume degraded that has a replica on the world's node.
	degrade := func(ctx context.Context, w *world) (volume string) {
		GinkgoHelper()
		volume = w.namespace + "-pvc"
		Expect(longhorn.AddVolume(ctx, storage.VolumeSpec{Name: volume, Nodes: []string{w.host, "b", "c"}, AttachedTo: "b"})).To(Succeed())
		Expect(longhorn.FailReplica(ctx, volume, "c")).To(Succeed())
		return volume
	}

	It("is looked at again before a slot is taken", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.rest(ctx)
		w.agent.tick(ctx)
		w.rest(ctx)
		Expect(w.status(ctx).Position()).To(Equal("Prefetch (2/14)"))
		volume := degrade(ctx, w)
		for w.agent.marker.Phase != infrav1.HostUpgradeFetched {
			w.agent.tick(ctx)
		}
		w.rest(ctx)
		Expect(w.status(ctx).Message).To(ContainSubstring("is degraded"))
		Expect(w.marks(ctx).Slots).To(BeZero())

		Expect(longhorn.FinishRebuild(ctx, volume, "c")).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
	})

	It("is looked at again before the host is triggered, and not while its node is drained", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		guardPod(ctx, w)
		w.drive(ctx, nil)
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.rest(ctx)
		volume := degrade(ctx, w)
		w.rest(ctx)
		Expect(w.status(ctx).Position()).To(Equal("Drain (7/14)"))

		allowEviction(ctx, w)
		w.rest(ctx)
		Expect(w.status(ctx).Message).To(ContainSubstring("is degraded"))
		Expect(w.faults.triggers).To(BeEmpty())
		Expect(w.marks(ctx).Slots).To(Equal(1))

		Expect(longhorn.FinishRebuild(ctx, volume, "c")).To(Succeed())
		w.clock.SetTime(w.clock.Now().Add(5 * time.Second))
		w.rest(ctx)
		Expect(w.faults.triggers).NotTo(BeEmpty(), "what holds a drained node is looked at every five seconds")
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
	})

	It("does not grow with the cluster while a node is drained", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		guardPod(ctx, w)
		w.drive(ctx, nil)
		lists := &apiserver.Counting{Client: live}
		listed := func() int64 {
			GinkgoHelper()
			w.connector.client, w.connector.cached = lists, live
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
			w.rest(ctx)
			lists.Listed()
			const passes, pollPods = 10, 2 * time.Second
			for range passes {
				_, err := w.reconcile(ctx)
				Expect(err).NotTo(HaveOccurred())
				w.clock.SetTime(w.clock.Now().Add(pollPods))
			}
			Expect(w.status(ctx).Position()).To(Equal("Drain (7/14)"))
			return lists.Listed()
		}
		alone := listed()
		Expect(alone).To(BeNumerically(">", 0))
		const others = 10
		addOthers(ctx, w, longhorn, others)
		Expect(listed()).To(Equal(alone))
	})
})

// addOthers makes that many other nodes, each with its Lease and a volume.
func addOthers(ctx context.Context, w *world, longhorn *storage.Longhorn, others int) {
	GinkgoHelper()
	renewed := metav1.NewMicroTime(began)
	for n := range others {
		name := fmt.Sprintf("%s-other-%d", w.namespace, n)
		w.addWorker(ctx, name)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: name}}
		lease.Spec.RenewTime = &renewed
		Expect(live.Create(ctx, lease)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(live.Delete(ctx, lease))).To(Succeed()) })
		Expect(longhorn.AddVolume(ctx, storage.VolumeSpec{Name: name, Nodes: []string{name, "b"}, AttachedTo: name})).To(Succeed())
	}
}
