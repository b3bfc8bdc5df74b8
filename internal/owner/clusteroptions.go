// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
)

// ClusterOptions returns the nodeUpgradeOption that currently applies to a Cluster, and where it is set.
// A Cluster with another infrastructure provider has none, which means the defaults.
func ClusterOptions(ctx context.Context, reader client.Reader, namespace, name string) (infrav1.NodeUpgradeOption, string, error) {
	cluster := &clusterv1.Cluster{}
	if err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster); err != nil {
		return infrav1.NodeUpgradeOption{}, "", fmt.Errorf("reading Cluster %s: %w", name, err)
	}
	ref := cluster.Spec.InfrastructureRef
	if !association.NamesElementalCluster(ref) {
		return infrav1.NodeUpgradeOption{}, fmt.Sprintf("the defaults, as Cluster %s has no ElementalCluster", name), nil
	}
	elemental := &infrav1.ElementalCluster{}
	if err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, elemental); err != nil {
		return infrav1.NodeUpgradeOption{}, "", fmt.Errorf("reading ElementalCluster %s: %w", ref.Name, err)
	}
	return elemental.Spec.NodeUpgradeOption, fmt.Sprintf("spec.nodeUpgradeOption of ElementalCluster %s", ref.Name), nil
}
