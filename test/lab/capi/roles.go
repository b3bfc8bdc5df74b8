// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capi

import (
	"cmp"
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	kindClusterRole = "ClusterRole"
	kindRole        = "Role"
)

// kubeconfig creates the user that the manager acts as. With Roles, it has only the permissions that they grant, as
// in a real cluster.
func (p *Provider) kubeconfig(ctx context.Context, env Env) (string, error) {
	if len(p.Roles) == 0 {
		return env.Management.WriteKubeconfig(cmp.Or(p.User, p.Name))
	}
	roles, err := Load(p.Roles...)
	if err != nil {
		return "", err
	}
	for _, role := range roles.OfKind(kindClusterRole, kindRole) {
		if role.GetKind() == kindRole {
			role.SetNamespace(p.Namespace)
		}
		if err := (Manifests{role}).Create(ctx, env.Client); err != nil {
			return "", err
		}
		if err := env.Client.Create(ctx, p.bindingTo(role)); err != nil {
			return "", fmt.Errorf("granting %s to %s: %w", role.GetName(), p.Name, err)
		}
	}
	return env.Management.WriteUserKubeconfig(cmp.Or(p.User, p.Name), p.Name)
}

// bindingTo grants a role to the manager's user.
func (p *Provider) bindingTo(role *unstructured.Unstructured) client.Object {
	meta := metav1.ObjectMeta{Namespace: role.GetNamespace(), Name: p.Name + "-" + role.GetName()}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.GetKind(), Name: role.GetName()}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: cmp.Or(p.User, p.Name)}}
	if role.GetKind() == kindRole {
		return &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	}
	return &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
}
