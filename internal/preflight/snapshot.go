// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Snapshot is what the checks look at. Objects that do not exist are nil. Nothing of it may be changed: it is
// the caches' own, and what was read of the workload cluster is shared.
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
	// StaticPods of the control plane, and the Heartbeats of its kubelets by the names of their Nodes, where they were read: see
	// Sources.LiveControlPlane.
	StaticPods []corev1.Pod
	Heartbeats map[string]Heartbeat
	// Outages are how long nodes were out of service in their last upgrades, by the name of the host, where something is down
	// meanwhile; zero where that is not known.
	Outages map[string]time.Duration
	Services
}

// Services are what is listed in the workload cluster for all of its nodes at once.
type Services struct {
	// Residents that the cluster may have, and States of those that it has, by their names.
	Residents []workload.Resident
	States    map[string]workload.State
	// Jobs that read or write the disks of virtual machines, and are not done.
	Jobs []workload.Job
	// Unhealthy is what is not healthy on nodes, by their names.
	Unhealthy map[string][]infrav1.UnhealthyObject
	// Foreign are upgrades that others carry out on the cluster.
	Foreign []workload.Job
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

// stoppedOn are the components of the control plane whose static Pods on a node are not Ready, in their order, and etcd where
// it runs in such Pods but has none there. A control plane that does not run in such Pods has none.
func (s *Snapshot) stoppedOn(node string) []string {
	stopped, etcdIsStacked, etcdIsThere := []string{}, false, false
	for i := range s.StaticPods {
		pod := &s.StaticPods[i]
		isHere, isEtcd := pod.Spec.NodeName == node, pod.Labels[componentLabel] == etcdComponent
		etcdIsStacked, etcdIsThere = etcdIsStacked || isEtcd, etcdIsThere || isEtcd && isHere
		if isHere && !workload.IsPodReady(pod) {
			stopped = append(stopped, cmp.Or(pod.Labels[componentLabel], pod.Name))
		}
	}
	if etcdIsStacked && !etcdIsThere {
		stopped = append(stopped, etcdComponent)
	}
	slices.Sort(stopped)
	return stopped
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
