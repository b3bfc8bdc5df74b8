// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package attempts

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Fields that the manager's cache and, as selectable fields of the CRD, the API server find attempts by.
const (
	// ByCluster finds attempts by the name of their Cluster.
	ByCluster = "spec.clusterName"
	// ByHost finds attempts by the name of their ElementalHost.
	ByHost = "spec.hostName"
	// ByMachine finds attempts by the name of their Machine.
	ByMachine = "spec.machineName"
)

// Fields that only the manager's cache finds attempts by.
const (
	// ByElementalMachine finds attempts by the name of their ElementalMachine.
	ByElementalMachine = "spec.elementalMachineName"
	// byUnfinished finds the attempts that have not ended by the name of their Cluster.
	byUnfinished = "elemental.unfinished"
	// byNode finds attempts by the name of their Node.
	byNode = "status.nodeName"
)

// phaseField selects attempts by their phase at the API server.
const phaseField = "status.phase"

// AddIndexes adds the indexes of this package to a cache that has not been started.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for field, value := range map[string]func(*infrav1.ElementalHostUpgrade) string{
		ByCluster:          func(u *infrav1.ElementalHostUpgrade) string { return u.Spec.ClusterName },
		ByHost:             func(u *infrav1.ElementalHostUpgrade) string { return u.Spec.HostName },
		ByMachine:          func(u *infrav1.ElementalHostUpgrade) string { return u.Spec.MachineName },
		ByElementalMachine: func(u *infrav1.ElementalHostUpgrade) string { return u.Spec.ElementalMachineName },
		byUnfinished:       clusterOfUnfinished,
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

func clusterOfUnfinished(attempt *infrav1.ElementalHostUpgrade) string {
	if attempt.PhaseNow().IsEnd() {
		return ""
	}
	return attempt.Spec.ClusterName
}
