// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// byTemplate is the field of the manager's cache that finds MachineDeployments by the templates that concern them.
// KubeadmControlPlanes, of which a Cluster has one, have no index: their CRD may be installed after the cache has been started.
const byTemplate = "elemental.concerned"

// AddIndexes adds the index that Owners lists by to a cache that has not been started.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &clusterv1.MachineDeployment{}, byTemplate, func(object client.Object) []string {
		md, isOne := object.(*clusterv1.MachineDeployment)
		if !isOne {
			return nil
		}
		return templatesOf(ForMachineDeployment(md))
	})
	if err != nil {
		return fmt.Errorf("indexing MachineDeployments by template: %w", err)
	}
	return nil
}

// templatesOf are the names of the ElementalMachineTemplates that concern an owner: the one that it refers to, unless it is being
// deleted, with the clone that this provider has pointed it to last, and the one that it is paused for.
func templatesOf(of Owner) []string {
	names := []string{PausedFor(of)}
	if refersTo := TemplateName(of); refersTo != "" && of.Object().GetDeletionTimestamp().IsZero() {
		names = append(names, refersTo, of.Object().GetAnnotations()[infrav1.RolloutCloneAnnotation])
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}
