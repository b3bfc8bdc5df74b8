// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Snapshot is what the checks look at, read once for a pass. Objects that do not exist are nil.
type Snapshot struct {
	// Now is when it was read.
	Now time.Time

	Cluster          *clusterv1.Cluster
	ElementalCluster *infrav1.ElementalCluster
	// Machines of the cluster.
	Machines []clusterv1.Machine
	// Attempts of the cluster, ended ones too.
	Attempts []infrav1.ElementalHostUpgrade

	// Nodes of the workload cluster.
	Nodes []corev1.Node
}

// Reader takes snapshots.
type Reader struct {
	// Management reads the management cluster; a cache will do.
	Management client.Reader
	// Now is the time.
	Now func() time.Time
}

// Read takes a snapshot of a cluster. It fails where one of the two clusters does not answer.
func (r *Reader) Read(ctx context.Context, cluster *clusterv1.Cluster, elemental *infrav1.ElementalCluster, live *workload.Cluster) (*Snapshot, error) {
	s := &Snapshot{Now: r.Now(), Cluster: cluster, ElementalCluster: elemental}
	if err := r.readManagement(ctx, s); err != nil {
		return nil, err
	}
	var err error
	if s.Nodes, err = live.Nodes(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func (r *Reader) readManagement(ctx context.Context, s *Snapshot) error {
	ofCluster := client.MatchingLabels{clusterv1.ClusterNameLabel: s.Cluster.Name}
	machines := &clusterv1.MachineList{}
	if err := r.Management.List(ctx, machines, client.InNamespace(s.Cluster.Namespace), ofCluster); err != nil {
		return fmt.Errorf("listing Machines of Cluster %s: %w", s.Cluster.Name, err)
	}
	s.Machines = machines.Items
	// The history of a whole fleet is not worth copying for one cluster's part of it.
	attempts := &infrav1.ElementalHostUpgradeList{}
	if err := r.Management.List(ctx, attempts, client.InNamespace(s.Cluster.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing ElementalHostUpgrades of Cluster %s: %w", s.Cluster.Name, err)
	}
	for i := range attempts.Items {
		if attempts.Items[i].Spec.ClusterName == s.Cluster.Name {
			s.Attempts = append(s.Attempts, *attempts.Items[i].DeepCopy())
		}
	}
	return nil
}

// attempt of a name; nil if there is none.
func (s *Snapshot) attempt(name string) *infrav1.ElementalHostUpgrade {
	for i := range s.Attempts {
		if s.Attempts[i].Name == name {
			return &s.Attempts[i]
		}
	}
	return nil
}
