// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/hostupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
)

// reads counts what is read of a workload cluster.
type reads struct{ gets, lists int }

// counted has the reads of the world's workload cluster counted.
func (w *world) counted() *reads {
	count := &reads{}
	w.connector.client = interceptor.NewClient(live, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			count.gets++
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			count.lists++
			return c.List(ctx, list, options...)
		},
	})
	return count
}

// wakes are Owners that count how often attempts are looked at.
type wakes struct {
	hostupgrade.Owners
	count atomic.Int64
}

func (o *wakes) Wanted(ctx context.Context, reader client.Reader, machine *clusterv1.Machine) (*hostupgrade.WantedOS, string, error) {
	o.count.Add(1)
	return o.Owners.Wanted(ctx, reader, machine)
}

// standingStill makes queues in which nothing is due later: their clock does not move.
func standingStill(name string, limiter workqueue.TypedRateLimiter[ctrl.Request]) workqueue.TypedRateLimitingInterface[ctrl.Request] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[ctrl.Request]{
		Name: name, Clock: clocktesting.NewFakeClock(began),
	})
}

// queueUp has the world's attempt, and others, wait behind upgrade-z, which holds the only slot.
func queueUp(ctx context.Context, w *world, others ...string) {
	GinkgoHelper()
	takeSlot(ctx, w)
	w.drive(ctx, nil)
	Expect(w.status(ctx).Position()).To(Equal("Admit (4/14)"))
	for _, name := range others {
		agent := w.addOther(ctx, name, infrav1.NodeUpgradeOption{})
		Eventually(func() string {
			_, err := w.reconcileNamed(ctx, "upgrade-"+name)
			Expect(err).NotTo(HaveOccurred())
			agent.tick(ctx)
			return w.statusOf(ctx, "upgrade-"+name).Position()
		}).Should(Equal("Admit (4/14)"))
	}
}

func (w *world) statusOf(ctx context.Context, name string) infrav1.ElementalHostUpgradeStatus {
	GinkgoHelper()
	return get(ctx, w, name, &infrav1.ElementalHostUpgrade{}).Status
}

// slots are the names of the attempts that hold one.
func (w *world) slots(ctx context.Context) []string {
	GinkgoHelper()
	names := []string{}
	for _, slot := range get(ctx, w, clusterName, &infrav1.ElementalCluster{}).Status.UpgradeSlots {
		names = append(names, slot.Upgrade)
	}
	return names
}

var _ = Describe("Attempts that wait for a slot", func() {
	It("are woken when its holder frees it, and one of them takes it", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		queueUp(ctx, w, "b", "c")
		DeferCleanup(memory.Suspend())
		mgr := server.NewManager(clusterview.AddIndexes)
		looks := &wakes{Owners: w.owners}
		w.reconciler.Client, w.reconciler.Owners = mgr.GetClient(), looks
		const enough = 24 // that the attempts of one cluster need not wait for each other
		Expect(w.reconciler.SetupWithManager(ctx, mgr, controller.Options{NewQueue: standingStill, MaxConcurrentReconciles: enough})).To(Succeed())
		server.Run(mgr)
		Eventually(looks.count.Load).Should(BeNumerically(">=", 4), "all have been looked at since the controller has started")
		Eventually(func() bool {
			before := looks.count.Load()
			Consistently(looks.count.Load, time.Second).Should(BeNumerically(">=", before))
			return looks.count.Load() == before
		}).Should(BeTrue(), "nobody is looked at any more")
		Expect(w.slots(ctx)).To(ConsistOf("upgrade-z"))

		change(ctx, w, "upgrade-z", &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) { u.Spec.Cancel = true })
		Eventually(w.slots).WithContext(ctx).Should(ConsistOf(BeElementOf("upgrade-a", "upgrade-b", "upgrade-c")))
		Consistently(w.slots, time.Second).WithContext(ctx).Should(HaveLen(1))
	})

	It("look seldom, and read nothing live, and nothing of the workload cluster but their Nodes", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		queueUp(ctx, w)
		count := w.counted()
		w.reconciler.APIReader = nil
		for until := w.clock.Now().Add(10 * time.Minute); w.clock.Now().Before(until); {
			result, err := w.reconcile(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(result.RequeueAfter).NotTo(BeZero(), "an event may be missed")
			w.clock.SetTime(w.clock.Now().Add(result.RequeueAfter))
		}
		Expect(*count).To(Equal(reads{gets: 2}), "in ten minutes")
	})

	It("are not written again while the same holds them", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		change(ctx, w, w.host, &clusterv1.Machine{}, func(machine *clusterv1.Machine) {
			machine.Labels = map[string]string{clusterv1.ClusterNameLabel: clusterName, clusterv1.MachineControlPlaneLabel: ""}
		})
		change(ctx, w, clusterName, &infrav1.ElementalCluster{}, func(cluster *infrav1.ElementalCluster) {
			cluster.Spec.NodeUpgradeOption.AllowQuorumLoss = true
		})
		takeSlot(ctx, w)
		cluster := get(ctx, w, clusterName, &infrav1.ElementalCluster{})
		cluster.Status.UpgradeSlots[0].ControlPlane = true
		Expect(live.Status().Update(ctx, cluster)).To(Succeed())
		w.drive(ctx, nil)
		Expect(holdsIn(ctx, w)).To(HaveExactElements(HaveField("Reason", infrav1.HoldNoSlot), HaveField("Reason", infrav1.HoldControlPlaneBusy)))
		before := get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).ResourceVersion
		for range 3 {
			_, err := w.reconcile(ctx)
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).ResourceVersion).To(Equal(before))
	})

	It("do not all look around for one free slot", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		queueUp(ctx, w, "b", "c")
		freeSlots(ctx, w)
		for i, name := range []string{"upgrade-a", "upgrade-b", "upgrade-c"} {
			count := w.counted()
			_, err := w.reconcileNamed(ctx, name)
			Expect(err).NotTo(HaveOccurred())
			switch i {
			case 1: // the next one, which says so
				Expect(*count).To(Equal(reads{gets: 2}))
				Expect(w.statusOf(ctx, name).Message).To(Equal("waiting for an upgrade slot of Cluster edge: 1 of 1 taken by " + w.host))
			case 2: // whose hold is the same
				Expect(*count).To(Equal(reads{gets: 1}))
				Expect(w.statusOf(ctx, name).Message).To(HavePrefix("waiting for its turn in Cluster edge"))
			}
		}
		Expect(w.slots(ctx)).To(ConsistOf("upgrade-a"))
	})

	It("are checked again before they take it", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		queueUp(ctx, w)
		w.changeNode(ctx, func(node *corev1.Node) { node.Spec.Unschedulable = true })
		w.rest(ctx)
		Expect(w.status(ctx).Position()).To(Equal("Admit (4/14)"))
		freeSlots(ctx, w)
		w.rest(ctx)
		Expect(w.status(ctx).Position()).To(Equal("Admit (4/14)"))
		Expect(w.status(ctx).Preflight).To(ConsistOf(HaveField("Check", "NodeSchedulable")))
		Expect(w.slots(ctx)).To(BeEmpty())
		w.changeNode(ctx, func(node *corev1.Node) { node.Spec.Unschedulable = false })
		w.rest(ctx)
		Expect(w.slots(ctx)).To(ConsistOf("upgrade-a"))
	})
})
