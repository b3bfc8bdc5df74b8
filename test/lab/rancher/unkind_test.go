// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"net/url"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
)

var _ = Describe("What a hook must be prepared for", func() {
	hooked := rancher.DrainOptions{Enabled: true}.WithHooks(pre, post)

	It("is that the workload API is away, and comes back (case H)", func(ctx SpecContext) {
		w := newWorld(ctx, workersWith(hooked), "cp", "node")
		w.raise(ctx)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKey(rancher.PreDrainAnnotation))
		w.setKubeconfig(ctx, "127.0.0.1:1")
		w.answer(ctx, worker, pre)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKeyWithValue(rancher.DrainErrorAnnotation, ContainSubstring("connection refused")))
		Eventually(w.said).WithContext(ctx).Should(And(HavePrefix("False: draining worker node(s)"), ContainSubstring("connection refused")))
		Expect(w.annotations(worker)(ctx)).NotTo(HaveKey(rancher.DrainDoneAnnotation))

		api, err := url.Parse("https://" + trimScheme(server.Config.Host))
		Expect(err).NotTo(HaveOccurred())
		port, err := strconv.Atoi(api.Port())
		Expect(err).NotTo(HaveOccurred())
		link, err := process.NewLink(port)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(link.Close)
		w.setKubeconfig(ctx, "127.0.0.1:"+strconv.Itoa(link.Port()))
		Eventually(w.annotations(worker)).WithContext(ctx).Should(And(HaveKey(rancher.PostDrainAnnotation), Not(HaveKey(rancher.DrainErrorAnnotation))))
		w.answer(ctx, worker, post)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(haveNone())
		w.setKubeconfig(ctx, server.Config.Host)
	})

	It("is that a person's cordon is removed at the end, and one that is lifted meanwhile is set again", func(ctx SpecContext) {
		w := newWorld(ctx, workersWith(hooked), "cp", "node")
		w.setUnschedulable(ctx, worker, true)
		w.raise(ctx)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKey(rancher.PreDrainAnnotation))
		w.setUnschedulable(ctx, worker, false)
		Eventually(w.isCordoned(worker)).WithContext(ctx).Should(BeTrue(), "at the next event of the Secret")
		w.answer(ctx, worker, pre)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKey(rancher.PostDrainAnnotation))
		w.answer(ctx, worker, post)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(haveNone())
		Expect(w.isCordoned(worker)(ctx)).To(BeFalse())
	})

	It("is that a Machine without Node is not drained, and never uncordoned", func(ctx SpecContext) {
		w := newWorld(ctx, workersWith(hooked), "cp", "node")
		machine := w.addMachine(ctx, pool, "new", false)
		secret, last := rancher.PlanSecret(machine), len(w.machines)-1
		Expect(rancher.Annotate(ctx, server.Client, secret, rancher.DrainOptionsAnnotation, token(hooked))).To(Succeed())
		Eventually(w.annotations(last)).WithContext(ctx).Should(HaveKey(rancher.PreDrainAnnotation))
		w.answer(ctx, last, pre)
		Eventually(w.annotations(last)).WithContext(ctx).Should(HaveKey(rancher.DrainDoneAnnotation))
		Expect(rancher.Annotate(ctx, server.Client, secret, rancher.UncordonAnnotation, token(hooked))).To(Succeed())
		Consistently(w.annotations(last), calm, look).WithContext(ctx).ShouldNot(HaveKey(rancher.PostDrainAnnotation))
		w.join(ctx, machine)
		Expect(rancher.Annotate(ctx, server.Client, secret, "test/touched", "")).To(Succeed())
		Eventually(w.annotations(last)).WithContext(ctx).Should(HaveKey(rancher.PostDrainAnnotation))
	})

	It("is that keys with prefixes of Rancher and Cluster API do not survive a write of the planner", func(ctx SpecContext) {
		w := newWorld(ctx, workersWith(hooked), "cp", "node")
		secret := rancher.PlanSecret(w.machines[worker])
		wiped := []string{"rke.cattle.io/mine", "cluster.x-k8s.io/mine", "machine.cluster.x-k8s.io/mine"}
		const kept = "infrastructure.cluster.x-k8s.io/mine"
		for _, key := range append(wiped, kept) {
			Expect(rancher.Annotate(ctx, server.Client, secret, key, "1")).To(Succeed())
		}
		w.raise(ctx)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKey(rancher.DrainOptionsAnnotation))
		for _, key := range wiped {
			Expect(w.annotations(worker)(ctx)).NotTo(HaveKey(key))
		}
		Expect(w.annotations(worker)(ctx)).To(HaveKey(kept))
	})

	It("is that the Secret changes all the time, so that a write which insists on what it has read fails", func(ctx SpecContext) {
		w := newWorld(ctx, workersWith(hooked), "cp", "node")
		read := &corev1.Secret{}
		Expect(server.Client.Get(ctx, rancher.PlanSecret(w.machines[worker]), read)).To(Succeed())
		former := read.ResourceVersion
		Eventually(func() (string, error) {
			now := &corev1.Secret{}
			err := server.Client.Get(ctx, client.ObjectKeyFromObject(read), now)
			return now.ResourceVersion, err
		}).WithContext(ctx).ShouldNot(Equal(former))
		before := read.DeepCopy()
		read.Annotations = map[string]string{pre: "1"}
		Expect(apierrors.IsConflict(server.Client.Patch(ctx, read, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))).To(BeTrue())
	})

	It("is that Rancher is away, in the middle of a drain that a PodDisruptionBudget holds", func(ctx SpecContext) {
		w := newWorld(ctx, workersWith(hooked), "cp", "node")
		pod := w.addPod(ctx, worker, "web")
		budget := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: "web"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		}
		Expect(server.Client.Create(ctx, budget)).To(Succeed())
		w.raise(ctx)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKey(rancher.PreDrainAnnotation))
		w.answer(ctx, worker, pre)
		Consistently(pod, calm, look).WithContext(ctx).Should(BeTrue())
		Expect(played.Stop()).To(Succeed())
		Expect(server.Client.Delete(ctx, budget)).To(Succeed())
		Consistently(pod, calm, look).WithContext(ctx).Should(BeTrue())
		start(ctx)
		Eventually(w.annotations(worker)).WithContext(ctx).Should(HaveKey(rancher.PostDrainAnnotation))
		Expect(pod(ctx)).To(BeFalse())
	})
})
