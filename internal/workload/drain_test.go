// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Drain", func() {
	var w *world

	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	exists := func(ctx SpecContext, pod string) bool {
		err := server.Client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: pod}, &corev1.Pod{})
		Expect(client.IgnoreNotFound(err)).To(Succeed())
		return !apierrors.IsNotFound(err)
	}

	It("has nothing to do on an empty Node", func(ctx SpecContext) {
		drained, blocker := w.drain(ctx)
		Expect(drained).To(BeTrue())
		Expect(blocker).To(BeEmpty())
	})

	It("evicts Pods, and leaves those of DaemonSets", func(ctx SpecContext) {
		w.addDaemonSet(ctx, "cni")
		w.addPod(ctx, "cni-1", ownedBy("DaemonSet", "cni"))
		w.addPod(ctx, "web-1")
		w.drain(ctx)
		Expect(exists(ctx, "web-1")).To(BeFalse())
		Expect(exists(ctx, "cni-1")).To(BeTrue())
		drained, _ := w.drain(ctx)
		Expect(drained).To(BeTrue())
	})

	It("waits for Pods that take their time, and blames nobody", func(ctx SpecContext) {
		w.addPod(ctx, "web-1", takesItsTime)
		for range 2 {
			drained, blocker := w.drain(ctx)
			Expect(drained).To(BeFalse())
			Expect(blocker).To(BeEmpty())
		}
		Expect(server.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web-1"}},
			client.GracePeriodSeconds(0))).To(Succeed())
		drained, _ := w.drain(ctx)
		Expect(drained).To(BeTrue())
	})

	It("names the PodDisruptionBudget, its Pod and the Pod's owner, and says the same until that changes", func(ctx SpecContext) {
		w.setBudget(ctx, "web", 0)
		w.addPod(ctx, "web-1", ownedBy("ReplicaSet", "web"))
		for range 2 {
			drained, blocker := w.drain(ctx)
			Expect(drained).To(BeFalse())
			Expect(blocker).To(Equal("PodDisruptionBudget " + w.namespace + "/web allows no eviction of Pod " +
				w.namespace + "/web-1 (ReplicaSet web)"))
		}
		Expect(exists(ctx, "web-1")).To(BeTrue())
	})

	It("names a few of many Pods, in their order", func(ctx SpecContext) {
		w.setBudget(ctx, "web", 0)
		for _, name := range []string{"web-4", "web-2", "web-5", "web-1", "web-3"} {
			w.addPod(ctx, name)
		}
		_, blocker := w.drain(ctx)
		n := w.namespace
		Expect(blocker).To(Equal("PodDisruptionBudget " + n + "/web allows no eviction of Pods " +
			n + "/web-1, " + n + "/web-2, " + n + "/web-3 and 2 more"))
	})

	It("goes on when the PodDisruptionBudget allows it", func(ctx SpecContext) {
		w.setBudget(ctx, "web", 0)
		w.addPod(ctx, "web-1")
		w.drain(ctx)
		w.setBudget(ctx, "web", 1)
		w.drain(ctx)
		Expect(exists(ctx, "web-1")).To(BeFalse())
	})

	It("honours MachineDrainRules", func(ctx SpecContext) {
		for behavior, app := range map[clusterv1.MachineDrainRuleDrainBehavior]string{
			clusterv1.MachineDrainRuleDrainBehaviorSkip: "skipped", clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted: "job",
		} {
			Expect(server.Client.Create(ctx, &clusterv1.MachineDrainRule{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: app},
				Spec: clusterv1.MachineDrainRuleSpec{
					Drain: clusterv1.MachineDrainRuleDrainConfig{Behavior: behavior},
					Pods:  []clusterv1.MachineDrainRulePodSelector{{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}},
				},
			})).To(Succeed())
			w.addPod(ctx, app, func(pod *corev1.Pod) { pod.Labels["app"] = app })
		}
		drained, blocker := w.drain(ctx)
		Expect(drained).To(BeFalse())
		Expect(blocker).To(Equal("waiting for Pod " + w.namespace + "/job to complete"))
		Expect(server.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "job"}})).To(Succeed())
		drained, _ = w.drain(ctx)
		Expect(drained).To(BeTrue())
		Expect(exists(ctx, "skipped")).To(BeTrue())
	})
})
