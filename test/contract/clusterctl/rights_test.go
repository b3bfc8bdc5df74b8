// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"os/exec"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
)

// accountName is the suffix of the name by which the policy on Secrets recognizes the manager.
const accountName = "elemental-manager"

// rendered is the output of kustomize for a folder in config.
func rendered(folder string) capi.Manifests {
	GinkgoHelper()
	content, err := exec.Command(filepath.Join(root, "bin", "tools", "kubectl"), "kustomize", filepath.Join(root, "config", folder)).Output()
	Expect(err).NotTo(HaveOccurred())
	parsed, err := capi.Parse(content)
	Expect(err).NotTo(HaveOccurred())
	return parsed
}

// named is the one object of a kind and name.
func named(all capi.Manifests, kind, name string) *unstructured.Unstructured {
	GinkgoHelper()
	found := slices.DeleteFunc(slices.Clone(all.OfKind(kind)), func(object *unstructured.Unstructured) bool { return object.GetName() != name })
	Expect(found).To(HaveLen(1), "%s %s", kind, name)
	return found[0]
}

func as[T any](object *unstructured.Unstructured) *T {
	GinkgoHelper()
	into := new(T)
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into)).To(Succeed())
	return into
}

var _ = Describe("The policy on the manager's Secrets", func() {
	It("recognizes the manager by the name of its ServiceAccount and its Pods, and is bound", func() {
		all := objects(infrastructure)
		named(all, "ServiceAccount", accountName)
		Expect(as[appsv1.Deployment](all.OfKind("Deployment")[0]).Spec.Template.Spec.ServiceAccountName).To(Equal(accountName))
		policy := named(all, "ValidatingAdmissionPolicy", "elemental-manager-secrets")
		conditions, _, _ := unstructured.NestedSlice(policy.Object, "spec", "matchConditions")
		Expect(conditions).To(ConsistOf(HaveKeyWithValue("expression", ContainSubstring(":"+accountName+"$"))))
		binding := named(all, "ValidatingAdmissionPolicyBinding", policy.GetName())
		Expect(binding.Object).To(HaveKeyWithValue("spec", HaveKeyWithValue("policyName", policy.GetName())))
	})
})

var _ = Describe("The components for one namespace", func() {
	const watched = "edge"

	It("grant in that namespace what the others grant everywhere, and elsewhere only reads of cluster-scoped objects and of those that may be in any namespace", func() {
		wide, narrow := rendered("default"), rendered("namespaced")
		role := as[rbacv1.Role](named(narrow, "Role", "elemental-manager-role"))
		Expect(role.Namespace).To(Equal(watched))
		Expect(role.Rules).To(Equal(as[rbacv1.ClusterRole](named(wide, "ClusterRole", "elemental-manager-role")).Rules))

		binding := as[rbacv1.RoleBinding](named(narrow, "RoleBinding", "elemental-manager-rolebinding"))
		Expect(binding.Namespace).To(Equal(watched))
		Expect(binding.RoleRef).To(Equal(rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}))
		account := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: accountName, Namespace: "elemental-system"}}
		Expect(binding.Subjects).To(Equal(account))

		elsewhere := as[rbacv1.ClusterRole](named(narrow, "ClusterRole", "elemental-manager-clusterwide-role"))
		for _, rule := range elsewhere.Rules {
			Expect(rule.Verbs).To(HaveEach(BeElementOf("get", "list")))
			Expect(rule.Resources).To(HaveEach(BeElementOf("namespaces", "deployments", "extensionconfigs")))
			Expect(rights(role.Rules)).To(ContainElements(rights([]rbacv1.PolicyRule{rule})), "a right that the manager does not use any more")
		}
		Expect(as[rbacv1.ClusterRoleBinding](named(narrow, "ClusterRoleBinding", "elemental-manager-clusterwide-rolebinding"))).To(And(
			HaveField("RoleRef.Name", elsewhere.Name), HaveField("Subjects", account)))
		roles := []string{}
		for _, object := range narrow.OfKind("ClusterRole") {
			roles = append(roles, object.GetName())
		}
		Expect(roles).To(ConsistOf(elsewhere.Name, "elemental-diagnostics-role"))
	})

	It("have the manager asked about that namespace alone, where it may read what it goes by", func() {
		narrow, asked := rendered("namespaced"), 0
		for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
			for _, configuration := range narrow.OfKind(kind) {
				webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
				Expect(err).NotTo(HaveOccurred())
				Expect(webhooks).To(HaveEach(HaveKeyWithValue("namespaceSelector", HaveKeyWithValue("matchLabels",
					Equal(map[string]any{corev1.LabelMetadataName: watched})))), configuration.GetName())
				asked += len(webhooks)
			}
		}
		Expect(asked).To(BeNumerically(">", 5), "the webhooks of all kinds")
	})

	It("have the manager watch it, and bring nothing that only names it", func() {
		narrow := rendered("namespaced")
		manager := as[appsv1.Deployment](narrow.OfKind("Deployment")[0]).Spec.Template.Spec.Containers[0]
		Expect(manager.Args).To(ContainElement("--namespace=" + watched))
		Expect(narrow.OfKind("ConfigMap")).To(BeEmpty())
	})
})

// rights are the permissions that rules grant, each as "group/resource:verb", regardless of how they
// are grouped into rules.
func rights(rules []rbacv1.PolicyRule) []string {
	var granted []string
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					granted = append(granted, group+"/"+resource+":"+verb)
				}
			}
		}
	}
	return granted
}
