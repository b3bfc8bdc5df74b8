// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// Field indexes of the manager's cache. A list that is selected by label walks all objects of its namespace.
const (
	// ByCluster finds Machines, ElementalMachines and ElementalHosts by the name of the Cluster that their label has.
	ByCluster = "elemental.cluster"
	// ByTemplate finds ElementalMachines by the name of the ElementalMachineTemplate that they were last made from.
	ByTemplate = "elemental.template"
	// UpgradesByCluster finds ElementalClusterUpgrades by their Cluster. It is also a selectable field of the CRD, so that live reads are
	// as narrow.
	UpgradesByCluster = "spec.clusterName"
	// byNode finds Machines by their Cluster and the name of their Node, and ElementalHosts by their Cluster and each name that
	// their Node can have, see nodeKey.
	byNode = "elemental.node"
	// byQuarantine finds ElementalClusters by the digests of the images in their quarantine.
	byQuarantine = "elemental.quarantine"
	// byDomain finds the ElementalHosts that are in a failure domain by their Cluster, see inDomain.
	byDomain = "elemental.domain"
)

// AddIndexes adds the indexes that a View reads by, those of packages attempts, owner and rollout among them, to a cache that has not been
// started.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range []struct {
		object client.Object
		field  string
		keys   client.IndexerFunc
	}{
		{&clusterv1.Machine{}, ByCluster, labelled},
		{&infrav1.ElementalMachine{}, ByCluster, labelled},
		{&infrav1.ElementalHost{}, ByCluster, labelled},
		{&infrav1.ElementalMachine{}, ByTemplate, templateOf},
		{&clusterv1.Machine{}, byNode, nodeOfMachine},
		{&infrav1.ElementalHost{}, byNode, nodesOfHost},
		{&infrav1.ElementalHost{}, byDomain, domainOfHost},
		{&infrav1.ElementalClusterUpgrade{}, UpgradesByCluster, clusterOfUpgrade},
		{&infrav1.ElementalCluster{}, byQuarantine, quarantineOf},
	} {
		if err := indexer.IndexField(ctx, index.object, index.field, index.keys); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", index.object, index.field, err)
		}
	}
	if err := owner.AddIndexes(ctx, indexer); err != nil {
		return err
	}
	if err := rollout.AddIndexes(ctx, indexer); err != nil {
		return err
	}
	return attempts.AddIndexes(ctx, indexer)
}

// ClusterOf is the Cluster that an object belongs to; without a name if there is none.
func ClusterOf(object client.Object) client.ObjectKey {
	name := object.GetLabels()[clusterv1.ClusterNameLabel]
	switch member := object.(type) {
	case *infrav1.ElementalHostUpgrade:
		name = member.Spec.ClusterName
	case *infrav1.ElementalRollout:
		name = member.Spec.ClusterName
	case *clusterv1.MachineDeployment:
		name = member.Spec.ClusterName
	}
	return client.ObjectKey{Namespace: object.GetNamespace(), Name: name}
}

func labelled(object client.Object) []string {
	return named(object.GetLabels()[clusterv1.ClusterNameLabel])
}

func templateOf(object client.Object) []string {
	machine, isOne := object.(*infrav1.ElementalMachine)
	if !isOne {
		return nil
	}
	return named(owner.MadeFrom(machine))
}

func clusterOfUpgrade(object client.Object) []string {
	upgrade, isOne := object.(*infrav1.ElementalClusterUpgrade)
	if !isOne {
		return nil
	}
	return named(upgrade.Spec.ClusterName)
}

func named(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}
