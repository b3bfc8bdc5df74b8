// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

var attached = storagev1.VolumeAttachmentStatus{Attached: true}

var _ = Describe("Volumes of a Node", func() {
	var w *world

	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	It("are those that are attached, sorted, without those of Pods that stay", func(ctx SpecContext) {
		w.addPod(ctx, "log-1", ownedBy("DaemonSet", "log"), withClaim("logs"))
		w.attach(ctx, "pv-2", "", attached)
		w.attach(ctx, "pv-1", "data", attached)
		w.attach(ctx, "pv-3", "logs", attached)
		w.attach(ctx, "pv-4", "", storagev1.VolumeAttachmentStatus{})
		elsewhere := newWorld(ctx)
		elsewhere.attach(ctx, "pv-5", "", attached)

		Expect(w.attached(ctx)).To(Equal([]string{w.namespace + "-pv-1", w.namespace + "-pv-2"}))
	})

	It("are those of Pods, too, that have ended or are being deleted, which use none", func(ctx SpecContext) {
		w.attach(ctx, "pv-1", "moved", attached)
		w.attach(ctx, "pv-2", "failed", attached)
		w.attach(ctx, "pv-3", "leaving", attached)
		ends := map[string]corev1.PodPhase{"moved": corev1.PodSucceeded, "failed": corev1.PodFailed, "leaving": corev1.PodRunning}
		for claim, phase := range ends {
			w.addPod(ctx, claim, ownedBy("DaemonSet", "log"), withClaim(claim),
				func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(60)) })
			pod := &corev1.Pod{}
			Expect(server.Client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: claim}, pod)).To(Succeed())
			pod.Status.Phase = phase
			Expect(server.Client.Status().Update(ctx, pod)).To(Succeed())
			if claim == "leaving" {
				Expect(server.Client.Delete(ctx, pod)).To(Succeed())
			}
		}
		Expect(w.attached(ctx)).To(Equal([]string{w.namespace + "-pv-1", w.namespace + "-pv-2", w.namespace + "-pv-3"}))
	})

	It("may have lost their PersistentVolume", func(ctx SpecContext) {
		w.attach(ctx, "pv-1", "", attached)
		volume := &corev1.PersistentVolume{}
		volume.Name = w.namespace + "-pv-1"
		Expect(server.Client.Delete(ctx, volume)).To(Succeed())
		Expect(w.attached(ctx)).To(Equal([]string{w.namespace + "-pv-1"}))
	})

	It("are not there while they are not attached, or that fails", func(ctx SpecContext) {
		failed := &storagev1.VolumeError{Message: "timed out"}
		w.attach(ctx, "pv-2", "", storagev1.VolumeAttachmentStatus{AttachError: failed})
		w.attach(ctx, "pv-1", "", storagev1.VolumeAttachmentStatus{})
		w.attach(ctx, "pv-3", "", storagev1.VolumeAttachmentStatus{AttachError: failed, Attached: true})
		Expect(w.cluster.Unattached(ctx, w.node)).To(HaveExactElements(
			HaveField("String()", w.namespace+"-pv-1"), HaveField("String()", w.namespace+"-pv-2 (attaching it fails)")))
	})
})

var _ = It("UnreadyDaemonPods names Pods of DaemonSets that are not Ready, and no others", func(ctx SpecContext) {
	w := newWorld(ctx)
	w.addPod(ctx, "web-1")
	w.addPod(ctx, "cni-1", ownedBy("DaemonSet", "cni"))
	Expect(w.cluster.UnreadyDaemonPods(ctx, w.node)).To(BeEmpty())

	for _, name := range []string{"web-1", "cni-1"} {
		pod := &corev1.Pod{}
		Expect(server.Client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, pod)).To(Succeed())
		pod.Status.Conditions = nil
		Expect(server.Client.Status().Update(ctx, pod)).To(Succeed())
	}
	unready, err := w.cluster.UnreadyDaemonPods(ctx, w.node)
	Expect(err).NotTo(HaveOccurred())
	Expect(workload.PodList(unready)).To(Equal("Pod " + w.namespace + "/cni-1 (DaemonSet cni)"))
})
