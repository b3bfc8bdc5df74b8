// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// connections is a ClusterCache as far as the controller listens to it.
type connections struct {
	// nodes is the cache of the workload cluster's Nodes. Nil: they are not watched.
	nodes   cache.Cache
	watched sync.Map
	changed chan event.GenericEvent
	woken   chan []ctrl.Request
}

func (c *connections) GetClusterSource(_ string, mapFunc func(context.Context, client.Object) []ctrl.Request, _ ...clustercache.GetClusterSourceOption) source.Source {
	return source.Channel(c.changed, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []ctrl.Request {
		requests := mapFunc(ctx, object)
		c.woken <- requests
		return requests
	}))
}

func (c *connections) Watch(_ context.Context, cluster client.ObjectKey, watcher clustercache.Watcher) error {
	if _, before := c.watched.LoadOrStore(watcher.Name()+cluster.String(), true); before || c.nodes == nil {
		return nil
	}
	return watcher.Watch(c.nodes)
}

var _ = Describe("The Node of an attempt", func() {
	DescribeTable("wakes it at once, when a person", func(ctx SpecContext, prepare, act func(*corev1.Node), passed string) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.changeNode(ctx, prepare)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Step).NotTo(BeEmpty(), "it waits")
		DeferCleanup(memory.Suspend())
		mgr := server.NewManager(clusterview.AddIndexes)
		w.reconciler.Client = mgr.GetClient()
		w.reconciler.Clusters = &connections{nodes: mgr.GetCache(), changed: make(chan event.GenericEvent), woken: make(chan []ctrl.Request)}
		Expect(w.reconciler.SetupWithManager(ctx, mgr, apiserver.OnlyWoken())).To(Succeed())
		server.Run(mgr)
		steps := func() []infrav1.UpgradeStepStatus {
			return w.status(ctx).Steps
		}
		Consistently(steps, time.Second).ShouldNot(ContainElement(HaveField("Name", passed)))
		w.changeNode(ctx, act)
		Eventually(steps).Should(ContainElement(HaveField("Name", passed)))
	},
		Entry("resumes it",
			func(node *corev1.Node) {
				node.Annotations = map[string]string{infrav1.NodeUpgradePauseAnnotation: "lunch"}
			},
			func(node *corev1.Node) { delete(node.Annotations, infrav1.NodeUpgradePauseAnnotation) }, "Cordon"),
	)
})

var _ = Describe("The connection to a workload cluster", func() {
	It("wakes the attempts that wait for it, and no others", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.addUpgrade(ctx, "over", w.host, infrav1.NodeUpgradeOption{})
		over := &infrav1.ElementalHostUpgrade{ObjectMeta: w.meta("over")}
		ended := client.MergeFrom(over.DeepCopy())
		over.Status.Phase = infrav1.UpgradeSucceeded
		Expect(live.Status().Patch(ctx, over, ended)).To(Succeed())

		told := &connections{changed: make(chan event.GenericEvent, 10), woken: make(chan []ctrl.Request, 10)}
		DeferCleanup(memory.Suspend())
		mgr := server.NewManager(clusterview.AddIndexes)
		w.connector.unreachable = true
		w.reconciler.Client, w.reconciler.Clusters = mgr.GetClient(), told
		Expect(w.reconciler.SetupWithManager(ctx, mgr, apiserver.OnlyWoken())).To(Succeed())
		server.Run(mgr)

		tell := func(cluster string) {
			told.changed <- event.GenericEvent{Object: &clusterv1.Cluster{ObjectMeta: w.meta(cluster)}}
		}
		tell(clusterName)
		Eventually(told.woken).Should(Receive(ConsistOf(ctrl.Request{
			NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: w.upgrade},
		})))
		tell("another")
		Eventually(told.woken).Should(Receive(BeEmpty()))
	})
})
