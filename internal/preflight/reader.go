// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Sources are where a Snapshot is read from.
type Sources struct {
	// Management reads the management cluster; a cache will do.
	Management client.Reader
	// Workload is the workload cluster.
	Workload *workload.Cluster
	// Cluster, and its ElementalCluster, which may be nil.
	Cluster          *clusterv1.Cluster
	ElementalCluster *infrav1.ElementalCluster
	// Now is the time.
	Now time.Time
	// MaxAge is how old the Services may be, all but whether virt-api serves, without which an eviction stops a virtual
	// machine. Default: they are read now.
	MaxAge time.Duration
	// LiveNodes has the Nodes read from the cluster itself. Default: from the watch of its connection.
	LiveNodes bool
}

// Reader takes snapshots. The zero value is ready, and may be used by many at once; it remembers which of the optional
// APIs a cluster does not have, so that such a cluster is not asked each time, and what it has last read of each cluster.
type Reader struct {
	absent absence
	recent recent
}

// Read takes a snapshot of a cluster. It fails where one of the two clusters does not answer.
func (r *Reader) Read(ctx context.Context, from Sources) (*Snapshot, error) {
	s := &Snapshot{Now: from.Now, Cluster: from.Cluster, ElementalCluster: from.ElementalCluster}
	if err := readManagement(ctx, from.Management, s); err != nil {
		return nil, err
	}
	nodes := from.Workload.CachedNodes
	if from.LiveNodes {
		nodes = from.Workload.Nodes
	}
	var err error
	if s.Nodes, err = nodes(ctx); err != nil {
		return nil, err
	}
	if err := readCordoners(ctx, from.Management, s); err != nil {
		return nil, err
	}
	s.Services, err = r.services(ctx, from)
	return s, err
}

func readManagement(ctx context.Context, management client.Reader, s *Snapshot) error {
	namespace := client.InNamespace(s.Cluster.Namespace)
	ofCluster := client.MatchingLabels{clusterv1.ClusterNameLabel: s.Cluster.Name}
	machines := &clusterv1.MachineList{}
	if err := management.List(ctx, machines, namespace, ofCluster); err != nil {
		return fmt.Errorf("listing Machines of Cluster %s: %w", s.Cluster.Name, err)
	}
	s.Machines = machines.Items
	hosts := &infrav1.ElementalHostList{}
	if err := management.List(ctx, hosts, namespace, ofCluster); err != nil {
		return fmt.Errorf("listing ElementalHosts of Cluster %s: %w", s.Cluster.Name, err)
	}
	s.Hosts = hosts.Items
	return nil
}

// readCordoners reads the attempts that the nodes say they are cordoned by.
func readCordoners(ctx context.Context, management client.Reader, s *Snapshot) error {
	for i := range s.Nodes {
		name := cordoner(&s.Nodes[i])
		attempt, err := existing.Get(ctx, management, &infrav1.ElementalHostUpgrade{}, s.Cluster.Namespace, name)
		if err != nil {
			return err
		}
		if attempt != nil && attempt.Spec.ClusterName == s.Cluster.Name {
			s.Attempts = append(s.Attempts, *attempt)
		}
	}
	return nil
}
