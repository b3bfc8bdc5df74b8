// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// MachinesOn a Node of a name are the Machines of the Cluster whose Node Cluster API has found it to be: one, if any.
func (v *View) MachinesOn(ctx context.Context, node string) ([]clusterv1.Machine, error) {
	found := &clusterv1.MachineList{}
	err := v.listOn(ctx, found, node)
	return found.Items, err
}

// HostsNamed like a Node are the hosts of the Cluster that register a Node of that name: it is their own, or a host name that
// they report.
func (v *View) HostsNamed(ctx context.Context, node string) ([]infrav1.ElementalHost, error) {
	found := &infrav1.ElementalHostList{}
	err := v.listOn(ctx, found, node)
	return found.Items, err
}

func (v *View) listOn(ctx context.Context, into client.ObjectList, node string) error {
	err := v.reader.List(ctx, into, client.InNamespace(v.cluster.Namespace), client.MatchingFields{byNode: nodeKey(v.cluster.Name, node)},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing %T of Node %s of Cluster %s: %w", into, node, v.cluster.Name, err)
	}
	return nil
}

// nodeKey joins two names of objects, which have no slash.
func nodeKey(cluster, node string) string { return cluster + "/" + node }

func nodeOfMachine(object client.Object) []string {
	machine, isOne := object.(*clusterv1.Machine)
	if !isOne || !machine.Status.NodeRef.IsDefined() {
		return nil
	}
	return []string{nodeKey(machine.Labels[clusterv1.ClusterNameLabel], machine.Status.NodeRef.Name)}
}

func nodesOfHost(object client.Object) []string {
	host, isOne := object.(*infrav1.ElementalHost)
	if !isOne || host.Labels[clusterv1.ClusterNameLabel] == "" {
		return nil
	}
	keys := []string{nodeKey(host.Labels[clusterv1.ClusterNameLabel], host.Name)}
	for _, address := range host.Status.Addresses {
		if address.Type == clusterv1.MachineHostName && address.Address != host.Name {
			keys = append(keys, nodeKey(host.Labels[clusterv1.ClusterNameLabel], address.Address))
		}
	}
	return keys
}
