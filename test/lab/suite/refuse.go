// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

// Refuse installs a policy that refuses operations for which an expression is false, until the spec or its container ends.
func Refuse(ctx context.Context, kube client.Client, name string, operation admissionv1.OperationType, resource schema.GroupVersionResource,
	validation admissionv1.Validation,
) (lift func(context.Context)) {
	GinkgoHelper()
	lift = refuse(ctx, kube, name, operation, resource, validation)
	DeferCleanup(lift)
	return lift
}

func refuse(ctx context.Context, kube client.Client, name string, operation admissionv1.OperationType, resource schema.GroupVersionResource,
	validation admissionv1.Validation,
) (lift func(context.Context)) {
	GinkgoHelper()
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{operation},
					Rule: admissionv1.Rule{
						APIGroups: []string{resource.Group}, APIVersions: []string{"*"}, Resources: []string{resource.Resource},
					},
				}}},
			},
			Validations: []admissionv1.Validation{validation},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	Expect(kube.Create(ctx, policy)).To(Succeed())
	Expect(kube.Create(ctx, binding)).To(Succeed())
	return func(ctx context.Context) {
		Expect(client.IgnoreNotFound(kube.Delete(ctx, binding))).To(Succeed())
		Expect(client.IgnoreNotFound(kube.Delete(ctx, policy))).To(Succeed())
	}
}

// KeepMachines refuses all deletions of a cluster's Machines for as long as the lab lives. A control plane provider that was made to
// delete a Machine can try it once more from a stale cache, after the spec has put everything back.
func KeepMachines(ctx context.Context, cluster *scenario.Cluster) {
	GinkgoHelper()
	const message = "Machines are kept"
	expression := fmt.Sprintf("oldObject.metadata.namespace != %q", cluster.Namespace())
	refuse(ctx, cluster.Lab.Kube, "keep-machines-"+cluster.Namespace(), admissionv1.Delete, clusterv1.GroupVersion.WithResource("machines"),
		admissionv1.Validation{Expression: expression, Message: message})
	machines, err := cluster.ControlPlaneMachines(ctx)
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() error { return cluster.Lab.Kube.Delete(ctx, machines[0].DeepCopy(), client.DryRunAll) }, process.Patience, look).Should(
		MatchError(ContainSubstring(message)))
}

// RefusedFromNow returns a function that lists the Machines that somebody tried to delete since then.
func RefusedFromNow(l *lab.Lab) func() []string {
	GinkgoHelper()
	refused := func() []string {
		GinkgoHelper()
		return audit.RefusedDeletions(Audit(l.Management), "machines")
	}
	known := len(refused())
	return func() []string { return refused()[known:] }
}
