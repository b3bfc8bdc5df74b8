// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
)

// AllOf are the ElementalClusterUpgrades of a Cluster, those included that have ended. They must not be changed.
func AllOf(ctx context.Context, reader client.Reader, cluster client.ObjectKey) ([]infrav1.ElementalClusterUpgrade, error) {
	found := &infrav1.ElementalClusterUpgradeList{}
	err := reader.List(ctx, found, client.InNamespace(cluster.Namespace), client.MatchingFields{clusterview.UpgradesByCluster: cluster.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing the ElementalClusterUpgrades of Cluster %s: %w", cluster.Name, err)
	}
	return found.Items, nil
}

// Of are the ElementalClusterUpgrades of a Cluster that have not ended, the newest first. They must not be changed.
func Of(ctx context.Context, reader client.Reader, cluster client.ObjectKey) ([]infrav1.ElementalClusterUpgrade, error) {
	all, err := AllOf(ctx, reader, cluster)
	if err != nil {
		return nil, err
	}
	active := slices.DeleteFunc(all, func(u infrav1.ElementalClusterUpgrade) bool { return u.PhaseNow().IsEnd() })
	slices.SortFunc(active, newestFirst)
	return active, nil
}

// Governing is the ElementalClusterUpgrade that says which nodes of a Cluster may begin: the newest that has not ended; nil if there is none.
func Governing(ctx context.Context, reader client.Reader, cluster client.ObjectKey) (*infrav1.ElementalClusterUpgrade, error) {
	active, err := Of(ctx, reader, cluster)
	if err != nil || len(active) == 0 {
		return nil, err
	}
	return &active[0], nil
}

func newestFirst(a, b infrav1.ElementalClusterUpgrade) int {
	return cmp.Or(createdAt(&b).Compare(createdAt(&a)), cmp.Compare(b.Name, a.Name))
}

// IsMoved reports whether an upgrade that is being created was looked after before, by the controller of another management cluster: "clusterctl move"
// brings it without its status, and before the Machines of its Cluster.
func IsMoved(upgrade *infrav1.ElementalClusterUpgrade) bool {
	_, known := upgrade.Annotations[infrav1.CreatedAnnotation]
	return known
}

// createdAt is the time of the first creation, which "clusterctl move" does not preserve.
func createdAt(upgrade *infrav1.ElementalClusterUpgrade) time.Time {
	if created, err := time.Parse(time.RFC3339, upgrade.Annotations[infrav1.CreatedAnnotation]); err == nil {
		return created
	}
	return upgrade.CreationTimestamp.Time
}
