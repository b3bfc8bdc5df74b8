// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// forbid has the API server refuse an image to ElementalMachines of a namespace, as somebody's policy does.
func forbid(namespace, image string) (lift func()) {
	GinkgoHelper()
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule: admissionv1.Rule{
						APIGroups: []string{infrav1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"elementalmachines"},
					},
				}}},
			},
			Validations: []admissionv1.Validation{{
				Expression: `object.spec.osVersionManagement.osVersion.imageUri != "` + image + `"`, Message: "this image is not allowed here",
			}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: namespace, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	plane.Create(ctx, policy, binding)
	return func() { Expect(c.Delete(ctx, binding)).To(Succeed()) }
}

var _ = Describe("A control plane whose Machines the API server would not let be updated", func() {
	var (
		w   *world
		kcp *controlplanev1.KubeadmControlPlane
	)
	refersTo := func() string { return apiserver.Get(ctx, c, kcp).Spec.MachineTemplate.Spec.InfrastructureRef.Name }

	BeforeEach(func() {
		allowInPlaceUpdates()
		w = newWorld()
		plane.Create(ctx, deployment("kcp", "control-plane-kubeadm", gatesOn))
		kcp = ownertest.KubeadmControlPlane(w.namespace, "cp", "c", "t")
		plane.Create(ctx, kcp)
		for _, name := range []string{"cp-1", "cp-2"} {
			plane.Create(ctx, ownertest.ControlPlaneMachine(kcp, name), ownertest.ElementalMachine(w.namespace, name, "t", imageA))
		}
		ownertest.Observe(ctx, c, kcp, 3)
	})

	// awaitPolicy waits for the API server to act by a policy that was made or taken away, which it does a moment later.
	awaitPolicy := func(active bool) {
		Eventually(func(g Gomega) {
			machine := &infrav1.ElementalMachine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "cp-2"}}
			g.Expect(c.Get(ctx, requestFor(machine).NamespacedName, machine)).To(Succeed())
			machine.Spec.OSVersionManagement = ownertest.OS(imageB)
			err := c.Update(ctx, machine, client.DryRunAll)
			g.Expect(err != nil).To(Equal(active), "%v", err)
		}).Should(Succeed())
	}

	It("is not pointed anywhere, and says what is refused and by whom, until it is not refused any more", func() {
		lift := forbid(w.namespace, imageB)
		awaitPolicy(true)
		w.patch(imageB)
		w.reconcile()
		Expect(refersTo()).To(Equal("t"))
		Expect(w.refersTo()).To(Equal("t"))
		Expect(w.clones()).To(BeEmpty())
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.UpdateRefusedReason)
		w.haveCondition(infrav1.ReferencesUpdatedCondition, metav1.ConditionFalse, infrav1.BlockedReason)
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(And(
			HavePrefix("KubeadmControlPlane cp would delete Machine cp-1 instead of updating it, because the API server refuses its ElementalMachine "+
				"with the content of ElementalMachineTemplate t: "),
			ContainSubstring("this image is not allowed here")))
		Expect(apiserver.Get(ctx, c, ownertest.ElementalMachine(w.namespace, "cp-1", "t", imageA)).Spec.OSVersionManagement).To(Equal(ownertest.OS(imageA)), "it was a dry run")

		lift()
		awaitPolicy(false)
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionFalse, infrav1.NotBlockedReason)
		Expect(w.clones()).NotTo(BeEmpty())
	})
})
