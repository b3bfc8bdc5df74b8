// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// staleReader answers reads of ElementalClusters with one that was read before.
type staleReader struct {
	client.Reader
	cluster *infrav1.ElementalCluster
}

func (s *staleReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if into, is := object.(*infrav1.ElementalCluster); is {
		s.cluster.DeepCopyInto(into)
		return nil
	}
	return s.Reader.Get(ctx, key, object, options...)
}

// cordonedOther is the state of another attempt that has cordoned its node, and of that node.
type cordonedOther struct {
	phase          infrav1.UpgradePhase
	ready          corev1.ConditionStatus
	slot, released bool
}

var _ = Describe("Attempts on several hosts", func() {
	DescribeTable("are held by a node that is down if it is one that the cluster has",
		func(ctx SpecContext, machine bool, verdict infrav1.PreflightVerdict, message string) {
			w := newWorld(ctx, infrav1.NodeUpgradeOption{})
			second := w.namespace + "-b"
			w.addWorker(ctx, second)
			setNode(ctx, second, "boot-1", corev1.ConditionFalse, began)
			if !machine {
				Expect(live.Delete(ctx, &clusterv1.Machine{ObjectMeta: w.meta(second)})).To(Succeed())
			}
			w.rest(ctx)
			Expect(get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).Status.Preflight).To(ConsistOf(SatisfyAll(
				HaveField("Check", "OtherNodes"), HaveField("Verdict", verdict),
				HaveField("Object", "Node/"+second), HaveField("Message", HavePrefix(message)))))
		},
		Entry("a Machine's", true, infrav1.PreflightBlock, "is not Ready: the cluster must not lose another node"),
		Entry("one that a lost host left", false, infrav1.PreflightWarn, "is not Ready and belongs to no Machine"),
	)

	DescribeTable("are held by a node that another attempt has cordoned, as soon as that holds no slot",
		func(ctx SpecContext, o cordonedOther, expected ...any) {
			w := newWorld(ctx, infrav1.NodeUpgradeOption{MaxConcurrent: 2})
			takeSlot(ctx, w)
			second := w.namespace + "-z"
			attempt := get(ctx, w, "upgrade-z", &infrav1.ElementalHostUpgrade{})
			attempt.Spec.Release = o.released
			Expect(live.Update(ctx, attempt)).To(Succeed())
			attempt.Status.Phase = o.phase
			Expect(live.Status().Update(ctx, attempt)).To(Succeed())
			if !o.slot {
				freeSlots(ctx, w)
			}
			node := &corev1.Node{}
			Expect(live.Get(ctx, client.ObjectKey{Name: second}, node)).To(Succeed())
			node.Spec.Unschedulable, node.Annotations = true, map[string]string{infrav1.CordonedByAnnotation: attemptOf(attempt)}
			Expect(live.Update(ctx, node)).To(Succeed())
			setNode(ctx, second, "boot-1", o.ready, began)
			w.rest(ctx)
			results := []any{}
			for _, result := range get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).Status.Preflight {
				Expect(result.Check).To(Equal("OtherNodes"))
				Expect(result.Object).To(Equal("Node/" + second))
				results = append(results, result.Verdict, result.Message)
			}
			Expect(results).To(Equal(append([]any{}, expected...)))
		},
		Entry("in its reboot", cordonedOther{infrav1.UpgradeProgressing, corev1.ConditionFalse, true, false}),
		Entry("lost", cordonedOther{infrav1.UpgradeHostLost, corev1.ConditionUnknown, true, false}),
		Entry("lost and released", cordonedOther{infrav1.UpgradeHostLost, corev1.ConditionUnknown, false, true}),
		Entry("rolled back and kept cordoned", cordonedOther{infrav1.UpgradeRolledBack, corev1.ConditionTrue, false, false},
			infrav1.PreflightWarn, "was left cordoned by ElementalHostUpgrade upgrade-z and takes no Pods from the node that is drained: "+
				"give its Machine a good image, or kubectl uncordon it"),
		Entry("rolled back, kept cordoned and down since", cordonedOther{infrav1.UpgradeRolledBack, corev1.ConditionFalse, false, false},
			infrav1.PreflightBlock, "is not Ready: the cluster must not lose another node"),
	)

	It("are told what to do about a lost host that holds their slot", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		takeSlot(ctx, w)
		attempt := get(ctx, w, "upgrade-z", &infrav1.ElementalHostUpgrade{})
		attempt.Status.Phase = infrav1.UpgradeHostLost
		Expect(live.Status().Update(ctx, attempt)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.status(ctx).Position()).To(Equal("Admit (4/14)"))
		Expect(w.status(ctx).Message).To(Equal("waiting for an upgrade slot of Cluster edge: 1 of 1 taken by " + w.namespace + "-z (HostLost: waits for its host); " +
			"bring a lost host back, delete its Machine, or set spec.release of ElementalHostUpgrade upgrade-z"))
	})

	It("never share a slot, even if both have seen it free", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		second := w.namespace + "-b"
		w.addWorker(ctx, second)
		w.addUpgrade(ctx, "upgrade-b", second, infrav1.NodeUpgradeOption{})
		other := newAgent(w, second)
		other.stopAt, w.agent.stopAt = infrav1.HostUpgradeFetched, infrav1.HostUpgradeFetched
		takeSlot(ctx, w)
		for range 12 { // one fetches the image after the other
			for name, agent := range map[string]*agent{w.upgrade: w.agent, "upgrade-b": other} {
				_, err := w.reconcileNamed(ctx, name)
				Expect(err).NotTo(HaveOccurred())
				agent.tick(ctx)
			}
		}
		freeSlots(ctx, w)
		w.reconciler.APIReader = &staleReader{Reader: live, cluster: get(ctx, w, clusterName, &infrav1.ElementalCluster{})}
		for _, name := range []string{w.upgrade, "upgrade-b"} {
			_, err := w.reconcileNamed(ctx, name)
			Expect(err).NotTo(HaveOccurred())
		}

		slots := get(ctx, w, clusterName, &infrav1.ElementalCluster{}).Status.UpgradeSlots
		Expect(slots).To(HaveLen(1))
		Expect(slots[0].Upgrade).To(Equal(w.upgrade))
		waiting := get(ctx, w, "upgrade-b", &infrav1.ElementalHostUpgrade{}).Status
		Expect(waiting.Position()).To(Equal("Admit (4/14)"))
		Expect(waiting.Message).To(Equal("waiting for an upgrade slot of Cluster edge"))
		w.reconciler.APIReader = live // no host is triggered by one that does not see its slot
		for _, name := range []string{w.upgrade, "upgrade-b"} {
			_, err := w.reconcileNamed(ctx, name)
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(w.faults.triggers).To(HaveExactElements(HavePrefix(w.upgrade + "/")))
	})

	It("get the slot of an attempt that was force-deleted", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		setSlots(ctx, w, infrav1.UpgradeSlot{Attempt: "gone/12345678", Upgrade: "gone"})
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	It("are pinned to the digest that the first of them resolved", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.pin(ctx, "sha256:pinned")
		w.drive(ctx, nil)
		Expect(w.status(ctx).Position()).To(Equal("Prefetch (2/14)"))
		Expect(get(ctx, w, w.host, &infrav1.ElementalHost{}).Spec.Upgrade.Digest).To(Equal("sha256:pinned"))
	})
})

var _ = Describe("Attempts on one host", func() {
	It("go one after the other", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.agent.stopAt = infrav1.HostUpgradeFetching
		w.drive(ctx, nil)
		w.addUpgrade(ctx, "upgrade-0", w.host, infrav1.NodeUpgradeOption{}) // first by name, if of the same second
		for range 3 {
			_, err := w.reconcileNamed(ctx, "upgrade-0")
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(get(ctx, w, "upgrade-0", &infrav1.ElementalHostUpgrade{}).Status.Message).To(Equal(
			"ElementalHostUpgrade/upgrade-a: is an unfinished attempt on the same host: wait for its end, or set its spec.cancel"))
		w.agent.stopAt = ""
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
		Expect(w.agent.applied).To(HaveLen(1))
	})

	It("are kept as a history that is limited", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		for i := range 12 {
			name := fmt.Sprintf("old-%02d", i)
			w.addUpgrade(ctx, name, w.host, infrav1.NodeUpgradeOption{})
			old := get(ctx, w, name, &infrav1.ElementalHostUpgrade{})
			old.Status.Phase = infrav1.UpgradeSucceeded
			Expect(live.Status().Update(ctx, old)).To(Succeed())
		}
		w.rest(ctx)
		kept := &infrav1.ElementalHostUpgradeList{}
		Expect(live.List(ctx, kept, client.InNamespace(w.namespace))).To(Succeed())
		Expect(kept.Items).To(HaveLen(11), "ten that ended and the one that runs")
		Expect(get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{})).NotTo(BeNil())
		Expect(get(ctx, w, "old-11", &infrav1.ElementalHostUpgrade{})).NotTo(BeNil())
		Expect(get(ctx, w, "old-00", &infrav1.ElementalHostUpgrade{})).To(BeNil())
	})

	It("cost no live read once they are history", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
		w.reconciler.APIReader = nil
		w.owners.hash = "other"
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		Expect(w.reconcile(ctx)).To(BeZero())
	})
})
