// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
)

var _ = Describe("The eviction of Pods", func() {
	It("leaves those of DaemonSets, and does not begin while there is one that must not be evicted", func(ctx SpecContext) {
		options := rancher.DrainOptions{Enabled: true}.WithHooks("", post)
		w := newWorld(ctx, workersWith(options), "cp", "node")
		ofReplicaSet := w.addPod(ctx, worker, "web")
		ofDaemonSet := w.addPod(ctx, worker, "daemon", func(pod *corev1.Pod) { pod.OwnerReferences[0].Kind = "DaemonSet" })
		ofKubelet := w.addPod(ctx, worker, "static", func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"}
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: w.machines[worker].Name, UID: "u"}}
		})
		ofNobody := w.addPod(ctx, worker, "alone", func(pod *corev1.Pod) { pod.OwnerReferences = nil })
		w.raise(ctx)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKeyWithValue(rancher.DrainErrorAnnotation, ContainSubstring("declare no controller")))
		Consistently(ofReplicaSet, calm, look).WithContext(ctx).Should(BeTrue())

		By("forcing it")
		options.Force = true
		Expect(played.SetDrainOptions(ctx, w.key, rancher.DrainOptions{}, options)).To(Succeed())
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKey(rancher.PostDrainAnnotation))
		Expect(ofReplicaSet(ctx)).To(BeFalse())
		Expect(ofNobody(ctx)).To(BeFalse())
		Expect(ofDaemonSet(ctx)).To(BeTrue())
		Expect(ofKubelet(ctx)).To(BeTrue())
		w.answer(ctx, worker, post)
		w.awaitRolled(ctx)
	})
})
