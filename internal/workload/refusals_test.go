// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("What refuses an eviction", func() {
	var w *world

	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	blocker := func(ctx SpecContext) string {
		GinkgoHelper()
		drained, blocker := w.drain(ctx)
		Expect(drained).To(BeFalse())
		return blocker
	}

	It("is told as the API server tells it, where a Pod has two PodDisruptionBudgets", func(ctx SpecContext) {
		w.setBudget(ctx, "web", 1)
		w.setBudget(ctx, "other", 1)
		w.addPod(ctx, "web-1")
		Expect(blocker(ctx)).To(Equal("Pod " + w.namespace + "/web-1 cannot be evicted: " +
			"This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."))
	})

	It("is told where its PodDisruptionBudget has not been looked at since it was changed", func(ctx SpecContext) {
		w.setBudget(ctx, "web", 1)
		budget := &policyv1.PodDisruptionBudget{}
		Expect(server.Client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "web"}, budget)).To(Succeed())
		budget.Spec.MinAvailable.IntVal++
		Expect(server.Client.Update(ctx, budget)).To(Succeed())
		w.addPod(ctx, "web-1")
		Expect(blocker(ctx)).To(And(HavePrefix("Pod "+w.namespace+"/web-1 cannot be evicted: "),
			HaveSuffix("or asks to try later, as for a PodDisruptionBudget that was changed and not looked at since")))
	})

	It("is told with the cause of each, and with how many Pods are on their way", func(ctx SpecContext) {
		w.setBudget(ctx, "web", 0)
		w.addPod(ctx, "web-1")
		w.addPod(ctx, "leaving", takesItsTime, func(pod *corev1.Pod) { pod.Labels["app"] = "leaving" })
		w.addPod(ctx, "denied", func(pod *corev1.Pod) { pod.Labels["app"] = "denied" })
		w.denyEviction(ctx, "denied")
		n := w.namespace
		blocker(ctx)
		Expect(blocker(ctx)).To(And(
			HavePrefix("PodDisruptionBudget "+n+"/web allows no eviction of Pod "+n+"/web-1; Pod "+n+"/denied cannot be evicted: "),
			ContainSubstring("ValidatingAdmissionPolicy '"+n+"'"), ContainSubstring("not now"),
			HaveSuffix("; 1 being deleted")))
		Expect(blocker(ctx)).To(Equal(blocker(ctx)))
	})
})

// denyEviction has the API server refuse to evict the Pod of that name.
func (w *world) denyEviction(ctx SpecContext, pod string) {
	GinkgoHelper()
	fail := admissionregistrationv1.Fail
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/eviction"}},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "object.metadata.name != '" + pod + "' || object.metadata.namespace != '" + w.namespace + "'", Message: "not now",
			}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        w.namespace,
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	for _, object := range []client.Object{policy, binding} {
		Expect(server.Client.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(server.Client.Delete(ctx, object)).To(Succeed()) })
	}
	Eventually(func() error {
		tried := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: pod}, DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}}
		return server.Client.SubResource("eviction").Create(ctx, &corev1.Pod{ObjectMeta: tried.ObjectMeta}, tried)
	}).Should(MatchError(ContainSubstring("not now")), "the API server has seen the policy")
}
