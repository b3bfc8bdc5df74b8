// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	"context"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// later is a manager in whose cluster KubeadmControlPlanes are installed only later.
type later struct {
	ctrl.Manager
	installed atomic.Bool
	asked     atomic.Int64
}

func (l *later) GetRESTMapper() meta.RESTMapper { return lateMapper{l.Manager.GetRESTMapper(), l} }

type lateMapper struct {
	meta.RESTMapper
	of *later
}

func (m lateMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	m.of.asked.Add(1)
	if kind.Kind == owner.KubeadmControlPlaneKind && !m.of.installed.Load() {
		return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
	}
	return m.RESTMapper.RESTMapping(kind, versions...)
}

var _ = Describe("KubeadmControlPlanes", func() {
	It("wake a controller although their provider is installed after the manager has started", func(ctx SpecContext) {
		DeferCleanup(owner.LookForControlPlanesEvery(50 * time.Millisecond))
		kcp := ownertest.KubeadmControlPlane(newNamespace(), "cp", "c1", "t1")
		create(kcp)
		mgr, err := plane.NewManager()
		Expect(err).NotTo(HaveOccurred())
		late, woken := &later{Manager: mgr}, make(chan client.ObjectKey, 100)
		by, err := controller.New("late", mgr, controller.Options{
			Reconciler: reconcile.Func(func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
				woken <- request.NamespacedName
				return reconcile.Result{}, nil
			}),
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(owner.WatchControlPlanes(late, by, &handler.EnqueueRequestForObject{})).To(Succeed())
		stop, err := apiserver.Run(ctx, mgr)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stop)
		Eventually(late.asked.Load).Should(BeNumerically(">", 2), "it has looked in vain")
		Expect(woken).To(BeEmpty())
		late.installed.Store(true)
		Eventually(woken).Should(Receive(Equal(client.ObjectKeyFromObject(kcp))))
	})
})
