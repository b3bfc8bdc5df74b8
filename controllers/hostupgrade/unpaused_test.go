// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
)

var _ = Describe("An attempt that has succeeded", func() {
	It("is taken back from its host although its Cluster was paused just then", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
		id := w.status(ctx).Attempt
		change(ctx, w, w.host, &infrav1.ElementalHost{}, func(host *infrav1.ElementalHost) {
			host.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: id}
		})
		pause(ctx, w, true)

		DeferCleanup(memory.Suspend())
		mgr := server.NewManager(clusterview.AddIndexes)
		w.reconciler.Client, w.reconciler.APIReader = mgr.GetClient(), mgr.GetAPIReader()
		Expect(w.reconciler.SetupWithManager(ctx, mgr, controller.Options{})).To(Succeed())
		server.Run(mgr)

		asked := func() *infrav1.HostUpgradeRequest { return get(ctx, w, w.host, &infrav1.ElementalHost{}).Spec.Upgrade }
		Eventually(func() bool {
			return conditions.IsTrue(get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}), clusterv1.PausedCondition)
		}).Should(BeTrue())
		Consistently(asked, time.Second).ShouldNot(BeNil())
		pause(ctx, w, false)
		Eventually(asked).Should(BeNil())
	})
})
