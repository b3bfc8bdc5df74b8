// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// byTemplate is the field of the manager's cache that finds MachineDeployments by the template that they refer to.
// KubeadmControlPlanes, of which a Cluster has one, have no index: their CRD may be installed after the cache has been started.
const byTemplate = "elemental.referred"

// AddIndexes adds the index that Owners lists by to a cache that has not been started.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &clusterv1.MachineDeployment{}, byTemplate, func(object client.Object) []string {
		md, isOne := object.(*clusterv1.MachineDeployment)
		if !isOne {
			return nil
		}
		if name := referredTo(ForMachineDeployment(md)); name != "" {
			return []string{name}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indexing MachineDeployments by template: %w", err)
	}
	return nil
}

// referredTo is the ElementalMachineTemplate that an owner refers to; empty if it is being deleted.
func referredTo(of Owner) string {
	if !of.Object().GetDeletionTimestamp().IsZero() {
		return ""
	}
	return TemplateName(of)
}
