// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/admission"
)

var _ = Describe("A gate", Ordered, func() {
	var (
		mu    sync.Mutex
		seen  []*admission.Write
		deny  bool
		ended chan bool
	)
	writes := func() []*admission.Write {
		mu.Lock()
		defer mu.Unlock()
		return append([]*admission.Write{}, seen...)
	}
	newMap := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	}

	BeforeAll(func(ctx SpecContext) {
		gate, err := admission.Open(func(_ context.Context, w *admission.Write) admission.Verdict {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, w)
			told := ended
			return admission.Verdict{Deny: deny, Then: func(stored bool) { told <- stored }}
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(gate.Close)
		Expect(gate.Guard(ctx, "management", cluster, clients[another], watched)).To(Succeed())
		Eventually(func(ctx SpecContext) ([]*admission.Write, error) {
			probe := newMap("")
			probe.GenerateName = "probe-"
			mu.Lock()
			ended = make(chan bool, 10)
			mu.Unlock()
			err := clients[watched].Create(ctx, probe)
			return writes(), err
		}).WithContext(ctx).ShouldNot(BeEmpty())
	})
	BeforeEach(func() {
		mu.Lock()
		defer mu.Unlock()
		seen, deny, ended = nil, false, make(chan bool, 10)
	})

	It("allows a write, and reports when it is stored", func(ctx SpecContext) {
		Expect(clients[watched].Create(ctx, newMap("passes"))).To(Succeed())
		Eventually(ended).Should(Receive(BeTrue()))
		Expect(writes()).To(ConsistOf(And(
			HaveField("Cluster", "management"), HaveField("User", watched), HaveField("Verb", "create"),
			HaveField("Resource", "configmaps"), HaveField("Name", "passes"), HaveField("Effects()", ConsistOf("create")),
		)))
	})

	It("keeps a write from being stored", func(ctx SpecContext) {
		deny = true
		Expect(apierrors.IsServiceUnavailable(clients[watched].Create(ctx, newMap("denied")))).To(BeTrue())
		Expect(apierrors.IsNotFound(clients[another].Get(ctx, client.ObjectKeyFromObject(newMap("denied")), newMap("")))).To(BeTrue())
		Consistently(ended, "100ms").ShouldNot(Receive())
	})

	It("reports a write that was allowed but not stored", func(ctx SpecContext) {
		stale := newMap("stale")
		Expect(clients[another].Create(ctx, stale)).To(Succeed())
		fresh := stale.DeepCopy()
		fresh.Data = map[string]string{"is": "newer"}
		Expect(clients[another].Update(ctx, fresh)).To(Succeed())
		patch := client.MergeFromWithOptions(stale.DeepCopy(), client.MergeFromWithOptimisticLock{})
		stale.Data = map[string]string{"is": "older"}
		Expect(apierrors.IsConflict(clients[watched].Patch(ctx, stale, patch))).To(BeTrue())
		// The API server may reject it before it calls the webhook.
		for range writes() {
			Eventually(ended).Should(Receive(BeFalse()))
		}
	})

	It("distinguishes evictions from dry runs, and counts one that is refused with 429 as carried out", func(ctx SpecContext) {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}}
		Expect(client.IgnoreAlreadyExists(clients[another].Create(ctx, account))).To(Succeed())
		labels := map[string]string{"app": "guest"}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "guest", Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/guest:1"}}},
		}
		Expect(clients[another].Create(ctx, pod)).To(Succeed())
		pod.Status.Phase = corev1.PodRunning
		Expect(clients[another].Status().Update(ctx, pod)).To(Succeed())
		one := intstr.FromInt32(1)
		budget := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "guest"},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}},
		}
		Expect(clients[another].Create(ctx, budget)).To(Succeed())
		budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, ExpectedPods: 1, DesiredHealthy: 1}
		Expect(clients[another].Status().Update(ctx, budget)).To(Succeed())
		evict := func(dryRun ...string) error {
			return clients[watched].SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{
				ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, DeleteOptions: &metav1.DeleteOptions{DryRun: dryRun},
			})
		}
		Expect(apierrors.IsTooManyRequests(evict(metav1.DryRunAll))).To(BeTrue())
		Expect(apierrors.IsTooManyRequests(evict())).To(BeTrue())
		Expect(writes()).To(HaveExactElements(
			And(HaveField("Resource", "pods/eviction"), HaveField("Trial", true)),
			And(HaveField("Resource", "pods/eviction"), HaveField("Trial", false)),
		))
		for range writes() {
			Eventually(ended).Should(Receive(BeTrue()))
		}
	})

	It("does not see the writes of other users", func(ctx SpecContext) {
		Expect(clients[another].Create(ctx, newMap("unseen"))).To(Succeed())
		Expect(writes()).To(BeEmpty())
	})

	It("distinguishes programs that share a user by their field managers", func(ctx SpecContext) {
		shared := newMap("shared")
		shared.Data = map[string]string{"by": "first"} // the API server records no field manager for an object without fields
		Expect(clients[another].Create(ctx, shared, client.FieldOwner("first"))).To(Succeed())
		shared.Data = map[string]string{"by": "second"}
		Expect(clients[watched].Update(ctx, shared, client.FieldOwner("second"))).To(Succeed())
		shared.Data = map[string]string{"by": "third"}
		Expect(clients[watched].Update(ctx, shared, client.FieldOwner("third"))).To(Succeed())
		Expect(writes()).To(HaveExactElements(HaveField("Writer()", "second"), HaveField("Writer()", "third")))
	})
})
