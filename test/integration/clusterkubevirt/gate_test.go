// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterkubevirt_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

func createGates(ctx context.Context) {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "gates"}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	account.Annotations = map[string]string{infrav1.GatesAnnotation: infrav1.GatesAllowed}
	manager := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "manager"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"gates"}, Verbs: []string{"get", "impersonate"}},
	}}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, account, state(),
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "gates"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "gates"}},
		},
		manager,
		&rbacv1.RoleBinding{
			ObjectMeta: manager.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "manager"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "system:authenticated"}},
		},
	} {
		Expect(theLab.WorkloadKube.Create(ctx, object)).To(Succeed())
	}
	becomes(ctx, "HEALTH_OK")
}

func state() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "storage"}}
}

func becomes(ctx context.Context, health string) {
	GinkgoHelper()
	Expect(theLab.WorkloadKube.Patch(ctx, state(), client.RawPatch("application/merge-patch+json", []byte(`{"data":{"health":"`+health+`"}}`)))).To(Succeed())
}
