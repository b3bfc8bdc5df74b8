// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepause_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// manage runs the controller in a manager that looks after the objects with a label, and waits until it has nothing to do.
func (w *world) manage(ctx context.Context, label string) {
	GinkgoHelper()
	mgr := server.NewManager(clusterview.AddIndexes)
	reads := &apiserver.Counting{Client: mgr.GetClient()}
	w.reconciler.Client, w.reconciler.APIReader, w.reconciler.WatchFilterValue = reads, mgr.GetAPIReader(), label
	Expect(w.reconciler.SetupWithManager(ctx, mgr, controller.Options{})).To(Succeed())
	server.Run(mgr)
	// Longer than watching.AfterMoment waits with what the objects that are there ask for.
	Eventually(reads.Rests).WithPolling(300 * time.Millisecond).MustPassRepeatedly(10).Should(BeTrue())
}

// label writes nothing but a label of the Cluster, or of its ElementalCluster.
func (w *world) label(ctx context.Context, object client.Object, key, value string) {
	GinkgoHelper()
	Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: clusterName}, object)).To(Succeed())
	before := object.DeepCopyObject().(client.Object)
	object.SetLabels(map[string]string{key: value})
	Expect(live.Patch(ctx, object, client.MergeFrom(before))).To(Succeed())
}

var _ = Describe("A Cluster whose nodes are to be paused", func() {
	typo := infrav1.NodeUpgradeOption{Strategy: infrav1.NodeUpgradeStrategy{Mode: infrav1.NodeUpgradeModeManual, PauseNodes: []string{"typo"}}}

	It("is looked after as soon as it gets the watch-filter label", func(ctx SpecContext) {
		w := newWorld(ctx, typo)
		w.manage(ctx, "mine")
		known := func() *metav1.Condition { return w.known(ctx) }
		Expect(known()).To(BeNil())
		w.label(ctx, &clusterv1.Cluster{}, clusterv1.WatchLabel, "mine")
		Eventually(known).Should(HaveField("Reason", infrav1.UnknownNodesReason))
	})

	It("is looked after as soon as its ElementalCluster is known to be its own", func(ctx SpecContext) {
		w := newWorld(ctx, typo)
		first := &infrav1.ElementalCluster{}
		Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: clusterName}, first)).To(Succeed())
		Expect(live.Delete(ctx, first)).To(Succeed())
		w.manage(ctx, "")
		again := &infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: clusterName}, Spec: first.Spec}
		Expect(live.Create(ctx, again)).To(Succeed())
		known := func() *metav1.Condition { return w.known(ctx) }
		Consistently(known, time.Second).Should(BeNil())
		w.label(ctx, again, clusterv1.ClusterNameLabel, clusterName) // as Cluster API does
		Eventually(known).Should(HaveField("Reason", infrav1.UnknownNodesReason))
	})
})
