// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

const (
	gateNamespace = "upgrade-gates"
	gateAccount   = "gates"
	gateStorage   = "storage"
)

// Gates is the YAML of an ElementalClusterUpgrade's spec, after which entries of spec.gates follow. It requires CreateGates.
const Gates = `  gateServiceAccount: {namespace: ` + gateNamespace + `, name: ` + gateAccount + `}
  gates:
`

// StorageGate is Gates with a gate that is open while the storage is healthy: see SetStorageHealth.
const StorageGate = Gates + `  - name: ` + gateStorage + `
    object: {apiVersion: v1, kind: ConfigMap, namespace: ` + gateNamespace + `, name: ` + gateStorage + `}
    expression: self.data.health == '` + StorageHealthy + `'
`

// States of the storage.
const (
	StorageHealthy   = "HEALTH_OK"
	StorageUnhealthy = "HEALTH_WARN"
)

// CreateGates creates in the workload cluster what its owner does to let gates be evaluated, with the rights to read the storage's health, to run
// Jobs and to read their logs. The storage is healthy.
func (c *Cluster) CreateGates(ctx context.Context) error {
	meta := metav1.ObjectMeta{Namespace: gateNamespace, Name: gateAccount}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	account.Annotations = map[string]string{infrav1.GatesAnnotation: infrav1.GatesAllowed}
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: gateNamespace}}, account, storageHealth()}
	objects = append(objects, grant(meta, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: gateNamespace, Name: gateAccount},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
		rbacv1.PolicyRule{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "list", "create", "delete"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}})...)
	// Whichever account the kubeconfig of the workload cluster has.
	objects = append(objects, grant(metav1.ObjectMeta{Namespace: gateNamespace, Name: "manager"},
		rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "system:authenticated"},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{gateAccount}, Verbs: []string{"get", "impersonate"}})...)
	for _, object := range objects {
		if err := c.WorkloadKube().Create(ctx, object); err != nil {
			return fmt.Errorf("creating %s of gates: %w", object.GetName(), err)
		}
	}
	return c.SetStorageHealth(ctx, StorageHealthy)
}

// grant rights to a subject by a Role and a RoleBinding.
func grant(meta metav1.ObjectMeta, to rbacv1.Subject, rules ...rbacv1.PolicyRule) []client.Object {
	return []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}, Subjects: []rbacv1.Subject{to}},
	}
}

// SetStorageHealth changes what the StorageGate looks at.
func (c *Cluster) SetStorageHealth(ctx context.Context, health string) error {
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"health":"`+health+`"}}`))
	return c.WorkloadKube().Patch(ctx, storageHealth(), patch)
}

func storageHealth() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: gateNamespace, Name: gateStorage}}
}
