// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package attempts

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Fields that the manager's cache and, as selectable fields of the CRD, the API server find attempts by.
const (
	// ByHost finds attempts by the name of their ElementalHost.
	ByHost = "spec.hostName"
	// ByMachine finds attempts by the name of their Machine.
	ByMachine = "spec.machineName"
)

// Fields that only the manager's cache finds attempts by.
const (
	// byElementalMachine finds attempts by the name of their ElementalMachine.
	byElementalMachine = "spec.elementalMachineName"
	// byUnfinished finds the attempts that have not ended by the name of their Cluster.
	byUnfinished = "elemental.unfinished"
	// byFetching finds the attempts whose hosts fetch their image, see IsFetching, by the name of their Cluster.
	byFetching = "elemental.fetching"
	// byUnsettled finds the attempts that are not settled, see IsSettled, by the name of their Cluster.
	byUnsettled = "elemental.unsettled"
	// byNode finds attempts by the name of their Node.
	byNode = "status.nodeName"
)

// Selectable fields of the CRD by which only the API server finds attempts: the name of their Cluster, and their phase.
const (
	clusterField = "spec.clusterName"
	phaseField   = "status.phase"
)

// AddIndexes adds the indexes of this package to a cache that has not been started.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for field, value := range map[string]func(*infrav1.ElementalHostUpgrade) string{
		ByHost:             func(u *infrav1.ElementalHostUpgrade) string { return u.Spec.HostName },
		ByMachine:          func(u *infrav1.ElementalHostUpgrade) string { return u.Spec.MachineName },
		byElementalMachine: func(u *infrav1.ElementalHostUpgrade) string { return u.Spec.ElementalMachineName },
		byUnfinished:       clusterOf(func(u *infrav1.ElementalHostUpgrade) bool { return !u.PhaseNow().IsEnd() }),
		byUnsettled:        clusterOf(func(u *infrav1.ElementalHostUpgrade) bool { return !IsSettled(*u) }),
		byFetching:         clusterOf(IsFetching),
		byNode:             func(u *infrav1.ElementalHostUpgrade) string { return u.Status.NodeName },
	} {
		err := indexer.IndexField(ctx, &infrav1.ElementalHostUpgrade{}, field, func(object client.Object) []string {
			attempt, ok := object.(*infrav1.ElementalHostUpgrade)
			if !ok || value(attempt) == "" {
				return nil
			}
			return []string{value(attempt)}
		})
		if err != nil {
			return fmt.Errorf("indexing ElementalHostUpgrades by %s: %w", field, err)
		}
	}
	return nil
}

// clusterOf finds the attempts that match by the name of their Cluster.
func clusterOf(match func(*infrav1.ElementalHostUpgrade) bool) func(*infrav1.ElementalHostUpgrade) string {
	return func(attempt *infrav1.ElementalHostUpgrade) string {
		if !match(attempt) {
			return ""
		}
		return attempt.Spec.ClusterName
	}
}

// IsSettled reports whether an attempt is history, and was not paused when it became it: then something of it may still have to
// be taken back from its host.
func IsSettled(attempt infrav1.ElementalHostUpgrade) bool {
	return IsHistory(&attempt) && !conditions.IsTrue(&attempt, clusterv1.PausedCondition)
}

// IsHistory reports whether nothing but its deletion can change the end of an attempt any more.
func IsHistory(attempt *infrav1.ElementalHostUpgrade) bool {
	phase := attempt.Status.Phase
	return attempt.DeletionTimestamp.IsZero() && (phase == infrav1.UpgradeSucceeded || phase == infrav1.UpgradeSuperseded)
}
