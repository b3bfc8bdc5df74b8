// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"reflect"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// stopping stops an upgrade between two reads of a reconcile: when an object is read again that the reconcile has read before,
// once the Node is cordoned.
type stopping struct {
	client.Client
	w *world
	// kind of the object, and whether the reconcile has read it by now.
	kind    client.Object
	read    bool
	stop    func(context.Context, *world)
	stopped bool
}

func (s *stopping) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, isAttempt := object.(*infrav1.ElementalHostUpgrade); isAttempt && key.Name == s.w.upgrade {
		s.read = false // the first that a reconcile reads live
	}
	if !s.stopped && reflect.TypeOf(object) == reflect.TypeOf(s.kind) {
		node := &corev1.Node{}
		Expect(live.Get(ctx, client.ObjectKey{Name: s.w.host}, node)).To(Succeed())
		_, isCluster := object.(*clusterv1.Cluster) // is read from the cache before
		if node.Spec.Unschedulable && (s.read || isCluster) {
			s.stopped = true
			s.stop(ctx, s.w)
		}
		s.read = true
	}
	return s.Client.Get(ctx, key, object, options...)
}

var _ = DescribeTable("A host is not triggered where, after the reconcile has read it,", func(ctx SpecContext, kind client.Object, stop func(context.Context, *world), says string) {
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	reader := &stopping{Client: live, w: w, kind: kind, stop: stop}
	w.reconciler.APIReader = reader
	w.drive(ctx, nil)
	Expect(reader.stopped).To(BeTrue())
	Expect(w.faults.triggers).To(BeEmpty())
	Expect(get(ctx, w, w.host, &infrav1.ElementalHost{}).Labels).NotTo(HaveKey(infrav1.InPlaceUpgradeLabel))
	Expect(w.status(ctx).Message).To(ContainSubstring(says))
},
	Entry("its Cluster is paused", &clusterv1.Cluster{}, func(ctx context.Context, w *world) {
		cluster := get(ctx, w, clusterName, &clusterv1.Cluster{})
		cluster.Spec.Paused = new(true)
		Expect(live.Update(ctx, cluster)).To(Succeed())
	}, ""),
	Entry("its image is quarantined", &infrav1.ElementalCluster{}, func(ctx context.Context, w *world) {
		cluster := get(ctx, w, clusterName, &infrav1.ElementalCluster{})
		cluster.Spec.Quarantine = quarantinedBy("another-host", newDigest)
		Expect(live.Update(ctx, cluster)).To(Succeed())
	}, "another-host"),
	Entry("its image is quarantined by another cluster", &infrav1.ElementalCluster{}, func(ctx context.Context, w *world) {
		quarantineElsewhere(ctx, w, newDigest)
	}, "is quarantined by ElementalCluster "+otherCluster),
	Entry("its namespace opts out", &infrav1.ElementalCluster{}, func(_ context.Context, w *world) { w.owners.closed = "the namespace has opted out" },
		"the namespace has opted out"),
	Entry("it is not known any more what its owner wants", &infrav1.ElementalCluster{}, func(_ context.Context, w *world) { w.owners.hash = "" },
		"no owner that determines its OS"),
	Entry("its owner wants another OS", &infrav1.ElementalCluster{}, func(_ context.Context, w *world) { w.owners.hash = "other" }, "wanted-by-now"),
)

var _ = It("No slot is taken in a namespace that has opted out, until it opts in again", func(ctx SpecContext) {
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	w.owners.closed = "the namespace has opted out"
	w.drive(ctx, nil)
	Expect(w.slots(ctx)).To(BeEmpty())
	Expect(w.status(ctx)).To(And(HaveField("Position()", "Admit (4/14)"), HaveField("Message", "the namespace has opted out")))
	node := &corev1.Node{}
	Expect(live.Get(ctx, client.ObjectKey{Name: w.host}, node)).To(Succeed())
	Expect(node.Spec.Unschedulable).To(BeFalse())

	w.owners.closed = ""
	w.drive(ctx, nil)
	Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
})
