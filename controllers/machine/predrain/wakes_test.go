// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predrain_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("A Machine whose ElementalMachine gets the watch-filter label", func() {
	It("gets the hook, without any other event", func(ctx SpecContext) {
		w := newWorld(ctx, func(m *clusterv1.Machine) { m.Labels = map[string]string{clusterv1.ClusterNameLabel: "edge"} })
		mgr := server.NewManager(clusterview.AddIndexes)
		reads := &apiserver.Counting{Client: mgr.GetClient()}
		w.reconciler.Client, w.reconciler.Clusters, w.reconciler.WatchFilterValue = reads, apiserver.SilentClusters{}, "mine"
		Expect(w.reconciler.SetupWithManager(ctx, mgr, controller.Options{})).To(Succeed())
		server.Run(mgr)

		hooked := func() bool { return w.hooked(ctx) }
		Eventually(reads.Rests).WithPolling(300 * time.Millisecond).MustPassRepeatedly(2).Should(BeTrue())
		Expect(hooked()).To(BeFalse())
		own := get(ctx, w, "m", &infrav1.ElementalMachine{})
		own.Labels = map[string]string{clusterv1.WatchLabel: "mine"}
		machine := get(ctx, w, "m", &clusterv1.Machine{})
		own.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: machine.Name, UID: machine.UID}}
		Expect(live.Update(ctx, own)).To(Succeed())
		Eventually(hooked).Should(BeTrue())
	})
})
