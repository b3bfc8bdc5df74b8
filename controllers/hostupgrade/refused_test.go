// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = It("A write that a policy refuses is said, and tried again", func(ctx SpecContext) {
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	allow := refuseCordon(ctx, w)
	w.drive(ctx, func() bool { return w.status(ctx).Step == "Cordon" })
	Expect(w.status(ctx).Position()).To(Equal("Cordon (5/14)"))
	Expect(w.status(ctx).Message).To(And(
		HavePrefix("refused, and tried again: running step Cordon: cordoning Node "+w.host+": "), HaveSuffix("no cordons on Sundays")))
	Expect(holdsIn(ctx, w)).To(HaveExactElements(SatisfyAll(
		HaveField("Reason", infrav1.HoldRequestRefused), HaveField("Object", "nodes/"+w.host))))
	Expect(admitted(ctx, w)).To(HaveField("Status", metav1.ConditionTrue))
	before := get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).ResourceVersion
	for range 3 {
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		_, err := w.reconcile(ctx)
		Expect(err).To(HaveOccurred())
	}
	Expect(get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).ResourceVersion).To(Equal(before), "nothing is written again")

	allow()
	w.drive(ctx, nil)
	Expect(w.marks(ctx)).To(Equal(clean))
})

var _ = It("A Pod that two PodDisruptionBudgets select, which no API server evicts, is named with that cause until one is gone", func(ctx SpecContext) {
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	guardPod(ctx, w)
	allowEviction(ctx, w)
	one := intstr.FromInt32(1)
	second := &policyv1.PodDisruptionBudget{ObjectMeta: w.meta("second"), Spec: policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}}
	Expect(live.Create(ctx, second)).To(Succeed())
	w.drive(ctx, nil)
	Expect(w.status(ctx)).To(And(HaveField("Step", "Drain"), HaveField("Message", w.inWords("Pod NAMESPACE/web cannot be evicted: "+
		"This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."))))

	Expect(live.Delete(ctx, second)).To(Succeed())
	w.drive(ctx, nil)
	Expect(w.marks(ctx)).To(Equal(clean))
})

// refuseCordon has the API server refuse the cordon of the world's node, until the returned function is called.
func refuseCordon(ctx context.Context, w *world) (allow func()) {
	GinkgoHelper()
	const look = 100 * time.Millisecond
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: w.host}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
			ResourceNames: []string{w.host},
			RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"nodes"}},
			},
		}}},
		Validations: []admissionv1.Validation{{Expression: "!has(object.spec.unschedulable) || !object.spec.unschedulable", Message: "no cordons on Sundays"}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.host},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: w.host, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	cordon := func(ctx context.Context) error {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.host}}
		return live.Patch(ctx, node, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"unschedulable":true}}`)), client.DryRunAll)
	}
	Expect(live.Create(ctx, policy)).To(Succeed())
	Expect(live.Create(ctx, binding)).To(Succeed())
	Eventually(cordon).WithPolling(look).WithContext(ctx).ShouldNot(Succeed())
	return func() {
		GinkgoHelper()
		Expect(live.Delete(ctx, binding)).To(Succeed())
		Expect(live.Delete(ctx, policy)).To(Succeed())
		Eventually(cordon).WithPolling(look).WithContext(ctx).Should(Succeed())
	}
}
