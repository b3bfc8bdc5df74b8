// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

var _ = Describe("What is not healthy on a Node", func() {
	var (
		w   *world
		now time.Time
	)
	// An API server says by its own clock when something was made.
	BeforeEach(func(ctx SpecContext) { w, now = newWorld(ctx), time.Now().Add(time.Hour) })

	daemon := func(ctx context.Context, set, pod string, status corev1.ConditionStatus, since time.Time) {
		GinkgoHelper()
		of := &appsv1.DaemonSet{}
		Expect(server.Client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: set}, of)).To(Succeed())
		w.addPod(ctx, pod, func(pod *corev1.Pod) {
			pod.Labels = of.Spec.Selector.MatchLabels
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(of, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
		})
		stored := &corev1.Pod{}
		Expect(server.Client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: pod}, stored)).To(Succeed())
		stored.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(since)}}
		Expect(server.Client.Status().Update(ctx, stored)).To(Succeed())
	}
	addDaemonSet := func(ctx context.Context, name string, ready int32) {
		GinkgoHelper()
		w.addDaemonSet(ctx, name)
		set := &appsv1.DaemonSet{}
		Expect(server.Client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, set)).To(Succeed())
		set.Status.DesiredNumberScheduled, set.Status.NumberReady = 2, ready
		Expect(server.Client.Status().Update(ctx, set)).To(Succeed())
	}
	setReady := func(ctx context.Context, status corev1.ConditionStatus, since time.Time) {
		GinkgoHelper()
		node := w.readNode(ctx)
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(since)}}
		Expect(server.Client.Status().Update(ctx, node)).To(Succeed())
	}
	set := func(name string) infrav1.UnhealthyObject {
		return infrav1.UnhealthyObject{Kind: infrav1.UnhealthyDaemonSet, Namespace: w.namespace, Name: name}
	}

	It("is what has not been for long, by what keeps its name", func(ctx SpecContext) {
		setReady(ctx, corev1.ConditionTrue, now)
		long := now.Add(-workload.UnhealthyFor)
		for name, ready := range map[string]int32{"broken": 1, "starting": 1, "ready": 1, "late": 2} {
			addDaemonSet(ctx, name, ready)
		}
		daemon(ctx, "broken", "broken-1", corev1.ConditionFalse, long)
		daemon(ctx, "broken", "broken-2", corev1.ConditionFalse, long)
		daemon(ctx, "starting", "starting-1", corev1.ConditionFalse, long.Add(time.Second))
		daemon(ctx, "ready", "ready-1", corev1.ConditionTrue, long)
		daemon(ctx, "late", "late-1", corev1.ConditionFalse, long)
		w.addPod(ctx, "web", func(pod *corev1.Pod) { pod.Labels = map[string]string{"daemon": "broken"} })
		w.attach(ctx, "pv-1", "", storagev1.VolumeAttachmentStatus{})
		w.attach(ctx, "pv-2", "", attached)
		volume := workload.UnhealthyVolume(w.namespace + "-pv-1")

		Expect(w.cluster.Unhealthy(ctx, w.readNode(ctx), now)).To(HaveExactElements(set("broken"), set("late"), volume))
		found, err := workload.UnhealthyOnNodes(ctx, server.Client, 0, now)
		Expect(err).NotTo(HaveOccurred())
		Expect(found[w.node]).To(HaveExactElements(set("broken"), volume), "the Pods of a DaemonSet that says that all are Ready are not listed")

		found, err = workload.UnhealthyOnNodes(ctx, server.Client, 1, now)
		Expect(err).NotTo(HaveOccurred())
		Expect(found[w.node]).To(HaveExactElements(volume), "nor those of one that has no more of them than Nodes that are not Ready")

		before := time.Now()
		Expect(w.cluster.Unhealthy(ctx, w.readNode(ctx), before)).NotTo(ContainElement(volume), "it was made just now")
		found, err = workload.UnhealthyOnNodes(ctx, server.Client, 0, before)
		Expect(err).NotTo(HaveOccurred())
		Expect(found[w.node]).To(BeEmpty())
	})

	It("may be the Node", func(ctx SpecContext) {
		itself := HaveExactElements(infrav1.UnhealthyObject{Kind: infrav1.UnhealthyNode, Name: w.node})
		Expect(w.cluster.Unhealthy(ctx, w.readNode(ctx), now)).To(itself, "nobody has ever said that it is Ready")
		setReady(ctx, corev1.ConditionFalse, now.Add(-workload.UnhealthyFor))
		Expect(w.cluster.Unhealthy(ctx, w.readNode(ctx), now)).To(itself)
		setReady(ctx, corev1.ConditionUnknown, now.Add(time.Second-workload.UnhealthyFor))
		Expect(w.cluster.Unhealthy(ctx, w.readNode(ctx), now)).To(BeEmpty())
		setReady(ctx, corev1.ConditionTrue, now.Add(-time.Hour))
		Expect(w.cluster.Unhealthy(ctx, w.readNode(ctx), now)).To(BeEmpty())
	})
})
