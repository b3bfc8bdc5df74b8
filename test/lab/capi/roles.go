// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capi

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const kindClusterRole = "ClusterRole"

// kubeconfig makes the user that the manager acts as. One with manifests of its roles may do what they grant and no
// more, as in a real cluster.
func (p *Provider) kubeconfig(ctx context.Context, env Env) (string, error) {
	if len(p.Roles) == 0 {
		return env.Management.WriteKubeconfig(p.Name)
	}
	roles, err := Load(p.Roles...)
	if err != nil {
		return "", err
	}
	roles = roles.OfKind(kindClusterRole)
	if err := roles.Create(ctx, env.Client); err != nil {
		return "", err
	}
	for _, role := range roles {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: p.Name + "-" + role.GetName()},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kindClusterRole, Name: role.GetName()},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: p.Name}},
		}
		if err := env.Client.Create(ctx, binding); err != nil {
			return "", fmt.Errorf("granting %s to %s: %w", role.GetName(), p.Name, err)
		}
	}
	return env.Management.WriteUserKubeconfig(p.Name)
}
