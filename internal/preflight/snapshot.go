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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/longhorn"
)

// Snapshot is what the checks look at, read once for a pass. Objects that do not exist are nil.
type Snapshot struct {
	// Now is when it was read.
	Now time.Time

	Cluster          *clusterv1.Cluster
	ElementalCluster *infrav1.ElementalCluster
	// Machines of the cluster.
	Machines []clusterv1.Machine
	// Hosts that serve them.
	Hosts []infrav1.ElementalHost
	// Attempts that have cordoned nodes.
	Attempts []infrav1.ElementalHostUpgrade

	// Nodes of the workload cluster.
	Nodes []corev1.Node
	// Renewed is when the kubelets last renewed the Leases of their Nodes.
	Renewed map[string]time.Time
	// KubeVirt is nil where it is not installed.
	KubeVirt *KubeVirt
	// Longhorn is nil where it is not installed.
	Longhorn *longhorn.Snapshot
	// Jobs that read or write the disks of virtual machines, and are not done.
	Jobs []Job
	// Foreign are upgrades that others carry out on the cluster.
	Foreign []Job
}

// Job is an object of the workload cluster that something is being done for.
type Job struct {
	// Object as "VolumeSnapshot/default/daily".
	Object string
	// Doing says what, as "a snapshot is being taken".
	Doing string
}

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
}

// Reader takes snapshots. The zero value is ready, and may be used by many at once; it remembers which of the optional
// APIs a cluster does not have, so that such a cluster is not asked each time.
type Reader struct {
	absent absence
}

// Read takes a snapshot of a cluster. It fails where one of the two clusters does not answer.
func (r *Reader) Read(ctx context.Context, from Sources) (*Snapshot, error) {
	s := &Snapshot{Now: from.Now, Cluster: from.Cluster, ElementalCluster: from.ElementalCluster}
	if err := readManagement(ctx, from.Management, s); err != nil {
		return nil, err
	}
	var err error
	if s.Nodes, err = from.Workload.Nodes(ctx); err != nil {
		return nil, err
	}
	if err := readCordoners(ctx, from.Management, s); err != nil {
		return nil, err
	}
	in := &optional{Client: from.Workload.Live(), cluster: client.ObjectKeyFromObject(from.Cluster), absent: &r.absent, now: from.Now}
	for _, read := range []func(context.Context, *optional, *Snapshot) error{
		readLeases, readKubeVirt, readLonghorn, readJobs, readForeign,
	} {
		if err := read(ctx, in, s); err != nil {
			return nil, err
		}
	}
	return s, nil
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

// attempt of a name; nil if there is none.
func (s *Snapshot) attempt(name string) *infrav1.ElementalHostUpgrade {
	for i := range s.Attempts {
		if s.Attempts[i].Name == name {
			return &s.Attempts[i]
		}
	}
	return nil
}

// hostOf is the host that serves a Machine; nil if there is none.
func (s *Snapshot) hostOf(machine *clusterv1.Machine) *infrav1.ElementalHost {
	for i := range s.Hosts {
		ref := s.Hosts[i].Spec.MachineRef
		if ref != nil && ref.Name == machine.Spec.InfrastructureRef.Name {
			return &s.Hosts[i]
		}
	}
	return nil
}

// node of a name; nil if there is none.
func (s *Snapshot) node(name string) *corev1.Node {
	for i := range s.Nodes {
		if s.Nodes[i].Name == name {
			return &s.Nodes[i]
		}
	}
	return nil
}

// SubjectOf is the subject of a Machine for which an upgrade is requested; nil while it has no Node or no host.
func (s *Snapshot) SubjectOf(machine *clusterv1.Machine) *Subject {
	node, host := s.node(machine.Status.NodeRef.Name), s.hostOf(machine)
	if node == nil || host == nil {
		return nil
	}
	return &Subject{Machine: machine, Host: host, Node: node}
}
