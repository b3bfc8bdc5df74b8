// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Sources are where a Snapshot is read from.
type Sources struct {
	// View is the Cluster in the management cluster.
	View *clusterview.View
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
	// LiveControlPlane reads the Machines of the control plane from the management cluster itself; with it the Nodes, the static
	// Pods and the Leases are read from the workload cluster itself. Default: Machines and Nodes come from caches, and static
	// Pods and Leases are not looked at.
	LiveControlPlane client.Reader
}

// Reader takes snapshots. The zero value is ready, and may be used by many at once; it remembers which of the optional
// APIs a cluster does not have, so that such a cluster is not asked each time, what it has last read of each cluster, and when it
// saw Leases renewed.
type Reader struct {
	absent absence
	recent recent
	// renewals are those of Leases, as they were seen.
	renewals observed.Changes
}

// Read takes a snapshot of a cluster. It fails where one of the two clusters does not answer.
func (r *Reader) Read(ctx context.Context, from Sources) (*Snapshot, error) {
	s := &Snapshot{Now: from.Now, Cluster: from.Cluster, ElementalCluster: from.ElementalCluster}
	if err := readManagement(ctx, from.View, s); err != nil {
		return nil, err
	}
	nodes := from.Workload.CachedNodes
	if from.LiveControlPlane != nil {
		nodes = from.Workload.Nodes
		if err := r.readControlPlane(ctx, from, s); err != nil {
			return nil, err
		}
	}
	var err error
	if s.Nodes, err = nodes(ctx); err != nil {
		return nil, err
	}
	if err := readCordoners(ctx, from.View, s); err != nil {
		return nil, err
	}
	if err := readOutages(ctx, from.View, s); err != nil {
		return nil, err
	}
	s.Services, err = r.services(ctx, from, s.Nodes)
	return s, err
}

func readManagement(ctx context.Context, view *clusterview.View, s *Snapshot) (err error) {
	if s.Machines, err = view.Machines(ctx); err != nil {
		return err
	}
	s.Hosts, err = view.Hosts(ctx)
	return err
}

// readCordoners reads the attempts that the nodes say they are cordoned by.
func readCordoners(ctx context.Context, view *clusterview.View, s *Snapshot) error {
	for i := range s.Nodes {
		name := cordoner(&s.Nodes[i])
		if name == "" {
			continue
		}
		attempt, err := view.Attempt(ctx, name)
		if err != nil {
			return err
		}
		if attempt != nil {
			s.Attempts = append(s.Attempts, *attempt)
		}
	}
	return nil
}
