// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// watchable connects to the API server of the suite, where watches can be opened, and counts the lists of volumes.
type watchable struct {
	client.Client
	lists atomic.Int64
}

func (w *watchable) Connect(context.Context, client.ObjectKey) (*workload.Cluster, error) {
	return workload.New(w, w).WithConfig(server.Config), nil
}

func (w *watchable) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, isVolumes := list.(*storagev1.VolumeAttachmentList); isVolumes {
		w.lists.Add(1)
	}
	return w.Client.List(ctx, list, options...)
}

// watchVolumes runs the controller in a manager, with an attempt that waits for a volume to be detached.
func watchVolumes(ctx context.Context, w *world, options controller.Options) *watchable {
	GinkgoHelper()
	attachVolume(ctx, w)
	w.drive(ctx, w.isAt(ctx, "DetachVolumes"))
	DeferCleanup(memory.Suspend())
	mgr := server.NewManager(clusterview.AddIndexes)
	cluster := &watchable{Client: live}
	w.reconciler.Client, w.reconciler.Workload = mgr.GetClient(), cluster
	Expect(w.reconciler.SetupWithManager(ctx, mgr, options)).To(Succeed())
	server.Run(mgr)
	Eventually(cluster.lists.Load).Should(BeNumerically(">", 0))
	return cluster
}

var _ = Describe("What leaves a Node", func() {
	It("is not polled for", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		cluster := watchVolumes(ctx, w, controller.Options{})
		const pause = 5 * time.Second // longer than between two polls, and shorter than a watch is relied on
		Eventually(apiserver.Rests(cluster.lists.Load), time.Minute, pause).Should(BeTrue(), "nothing is listed while nothing leaves")
	})

	It("wakes its attempt", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		const enough = 24 // that the attempts of other worlds do not keep this one waiting
		watchVolumes(ctx, w, controller.Options{NewQueue: standingStill, MaxConcurrentReconciles: enough})
		Expect(live.DeleteAllOf(ctx, &storagev1.VolumeAttachment{})).To(Succeed())
		Eventually(w.isAt(ctx, "DetachVolumes")).Should(BeFalse())
	})
})
