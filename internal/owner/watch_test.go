// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// later is a manager in whose cluster the KubeadmControlPlane CRD is installed only later.
type later struct {
	ctrl.Manager
	installed atomic.Bool
	asked     atomic.Int64
	log       logr.Logger
}

// Add makes the manager's runnables log to log.
func (l *later) Add(runnable manager.Runnable) error {
	return l.Manager.Add(manager.RunnableFunc(func(ctx context.Context) error {
		return runnable.Start(logr.NewContext(ctx, l.log))
	}))
}

func (l *later) GetRESTMapper() meta.RESTMapper { return lateMapper{l.Manager.GetRESTMapper(), l} }

type lateMapper struct {
	meta.RESTMapper
	of *later
}

func (m lateMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if kind.Kind == owner.KubeadmControlPlaneKind {
		m.of.asked.Add(1)
		if !m.of.installed.Load() {
			return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
		}
	}
	return m.RESTMapper.RESTMapping(kind, versions...)
}

// unreadable is a manager whose API server cannot be asked which kinds it has.
type unreadable struct{ ctrl.Manager }

func (u unreadable) GetRESTMapper() meta.RESTMapper { return brokenMapper{u.Manager.GetRESTMapper()} }

type brokenMapper struct{ meta.RESTMapper }

func (brokenMapper) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, errBroken
}

var errBroken = errors.New("broken")

// watcher is a controller that records the objects that woke it, and how often Watch was called.
type watcher struct {
	controller.Controller
	woken   chan client.ObjectKey
	watches atomic.Int64
	// failures is how many calls of Watch still fail.
	failures atomic.Int64
}

func newWatcher(mgr ctrl.Manager, name string) *watcher {
	GinkgoHelper()
	w := &watcher{woken: make(chan client.ObjectKey, 100)}
	var err error
	w.Controller, err = controller.New(name, mgr, controller.Options{
		Reconciler: reconcile.Func(func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
			w.woken <- request.NamespacedName
			return reconcile.Result{}, nil
		}),
	})
	Expect(err).NotTo(HaveOccurred())
	return w
}

func (w *watcher) Watch(from source.Source) error {
	w.watches.Add(1)
	if w.failures.Add(-1) >= 0 {
		return errBroken
	}
	return w.Controller.Watch(from)
}

var _ = Describe("KubeadmControlPlanes", func() {
	var (
		kcp  *controlplanev1.KubeadmControlPlane
		late *later
		logs *gbytes.Buffer
	)

	BeforeEach(func() {
		DeferCleanup(owner.LookForControlPlanesEvery(50 * time.Millisecond))
		kcp = ownertest.KubeadmControlPlane(plane.NewNamespace(ctx), "cp", "c1", "t1")
		plane.Create(ctx, kcp)
		mgr := plane.NewManager()
		logs = gbytes.NewBuffer()
		late = &later{Manager: mgr, log: funcr.New(func(_, args string) { _, _ = logs.Write([]byte(args)) }, funcr.Options{})}
	})
	run := func(ctx context.Context) {
		GinkgoHelper()
		plane.Run(late.Manager)
	}

	It("wake a controller even if their provider is installed after the manager has started", func(ctx SpecContext) {
		by := newWatcher(late.Manager, "late")
		Expect(owner.WatchControlPlanes(late, by, &handler.EnqueueRequestForObject{})).To(Succeed())
		run(ctx)
		Eventually(late.asked.Load).Should(BeNumerically(">", 2), "it has looked in vain")
		Expect(by.woken).To(BeEmpty())
		late.installed.Store(true)
		Eventually(by.woken).Should(Receive(Equal(client.ObjectKeyFromObject(kcp))))
		asked := late.asked.Load()
		Consistently(late.asked.Load, "300ms").Should(Equal(asked), "it looks no more")
		Expect(by.watches.Load()).To(BeEquivalentTo(2), "of both kinds")
		Expect(logs).NotTo(gbytes.Say("Failed to look"))
	})

	It("are watched immediately if their provider is installed", func(ctx SpecContext) {
		late.installed.Store(true)
		by := newWatcher(late.Manager, "at-once")
		Expect(owner.WatchControlPlanes(late, by, &handler.EnqueueRequestForObject{})).To(Succeed())
		Expect(by.watches.Load()).To(BeEquivalentTo(2), "of both kinds")
		run(ctx)
		Eventually(by.woken).Should(Receive(Equal(client.ObjectKeyFromObject(kcp))))
	})

	It("are looked up again after a controller failed to watch them", func(ctx SpecContext) {
		by := newWatcher(late.Manager, "second-try")
		Expect(owner.WatchControlPlanes(late, by, &handler.EnqueueRequestForObject{})).To(Succeed())
		by.failures.Store(2)
		run(ctx)
		late.installed.Store(true)
		Eventually(by.woken).Should(Receive(Equal(client.ObjectKeyFromObject(kcp))))
		Expect(by.watches.Load()).To(BeEquivalentTo(4))
		Expect(logs).To(gbytes.Say("watching KubeadmControlPlanes: broken"))
	})

	It("stop a manager that cannot look them up when it starts", func() {
		by := newWatcher(late.Manager, "not-told")
		Expect(owner.WatchControlPlanes(unreadable{late.Manager}, by, &handler.EnqueueRequestForObject{})).To(MatchError(errBroken))
		late.installed.Store(true)
		by.failures.Store(1)
		Expect(owner.WatchControlPlanes(late, by, &handler.EnqueueRequestForObject{})).To(MatchError("watching KubeadmControlPlanes: broken"))
	})
})
