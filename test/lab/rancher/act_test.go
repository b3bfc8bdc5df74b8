// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
)

// answer a hook of a machine.
func (w *world) answer(ctx context.Context, machine int, hook string) {
	GinkgoHelper()
	Expect(rancher.Answer(ctx, server.Client, rancher.PlanSecret(w.machines[machine]), hook)).To(Succeed())
}

// isCordoned reports whether a machine's Node is unschedulable.
func (w *world) isCordoned(machine int) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		node := &corev1.Node{}
		err := server.Client.Get(ctx, client.ObjectKey{Name: w.machines[machine].Name}, node)
		return node.Spec.Unschedulable, err
	}
}

// addPod makes a running Pod on a machine's Node, which a ReplicaSet owns.
func (w *world) addPod(ctx context.Context, machine int, name string, changes ...func(*corev1.Pod)) (exists func(context.Context) (bool, error)) {
	GinkgoHelper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.key.Namespace, Name: name, Labels: map[string]string{"app": name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "u", Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{NodeName: w.machines[machine].Name, Containers: []corev1.Container{{Name: "c", Image: "registry.example.com/c:1"}}},
	}
	for _, change := range changes {
		change(pod)
	}
	Expect(server.Client.Create(ctx, pod)).To(Succeed())
	pod.Status.Phase = corev1.PodRunning // no PodDisruptionBudget holds one that is Pending
	Expect(server.Client.Status().Update(ctx, pod)).To(Succeed())
	return func(ctx context.Context) (bool, error) {
		err := server.Client.Get(ctx, client.ObjectKeyFromObject(pod), &corev1.Pod{})
		return err == nil, client.IgnoreNotFound(err)
	}
}

// raise the generation of the cluster.
func (w *world) raise(ctx context.Context) {
	GinkgoHelper()
	_, err := played.RaiseProvisionGeneration(ctx, w.key)
	Expect(err).NotTo(HaveOccurred())
}

// pause the cluster, so that the planner does nothing; what machinedrain was asked for goes on.
func (w *world) pause(ctx context.Context, paused bool) {
	GinkgoHelper()
	cluster := &clusterv1.Cluster{}
	Expect(server.Client.Get(ctx, w.key, cluster)).To(Succeed())
	before := cluster.DeepCopy()
	cluster.Spec.Paused = ptr.To(paused)
	Expect(server.Client.Patch(ctx, cluster, client.MergeFrom(before))).To(Succeed())
	matches := HavePrefix("False: CAPI cluster or RKEControlPlane is paused")
	if !paused {
		matches = Not(matches)
	}
	Eventually(w.said).WithContext(ctx).Should(matches)
}

// awaitStrategy waits until the planner can know the options of workers.
func (w *world) awaitStrategy(ctx context.Context, options rancher.DrainOptions) {
	GinkgoHelper()
	Eventually(func() (rancher.UpgradeStrategy, error) { return rancher.Strategy(ctx, server.Client, w.key) }).WithContext(ctx).
		Should(HaveField("WorkerDrainOptions", options))
}

func (w *world) setUnschedulable(ctx context.Context, machine int, value bool) {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(server.Client.Get(ctx, client.ObjectKey{Name: w.machines[machine].Name}, node)).To(Succeed())
	before := node.DeepCopy()
	node.Spec.Unschedulable = value
	Expect(server.Client.Patch(ctx, node, client.MergeFrom(before))).To(Succeed())
}

func trimScheme(host string) string { return strings.TrimPrefix(host, "https://") }
