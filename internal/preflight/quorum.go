// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// checkQuorum makes sure that etcd keeps its majority while a control plane node is down; where the datastore is elsewhere, that another node serves the
// API. A node counts when it is Ready
// and KubeadmControlPlane, where it is one, finds nothing wrong with it. Directly before a disruption one does not count
// either whose kubelet has fallen silent, which is seen sooner than either of the two, or that has a static Pod that is not
// Ready.
func checkQuorum(s *Snapshot, subject *Subject) []infrav1.PreflightResult {
	if !util.IsControlPlaneMachine(subject.Machine) {
		return pass()
	}
	machines := s.controlPlane()
	unhealthy, awaited := s.unhealthyOthers(machines, subject)
	need, left := s.neededOf(machines), len(machines)-1-len(unhealthy)
	needs := fmt.Sprintf("has %d control plane nodes and %s needs %d of them while this one is down", len(machines), need.by, need.nodes)
	switch {
	case left-len(awaited) >= need.nodes:
		return pass()
	case len(awaited) > 0 && (left >= need.nodes || len(unhealthy) == 0):
		return block("Cluster/"+s.Cluster.Name, needs+": waiting for a heartbeat of Machine "+strings.Join(awaited, ", "))
	case len(unhealthy) > 0:
		return block("Cluster/"+s.Cluster.Name, needs+", but "+strings.Join(unhealthy, ", ")+": bring them back first")
	}
	return s.judgeQuorumLoss(subject, need.without)
}

// need is how many control plane nodes have to stay, for what, and what is so where they do not.
type need struct {
	nodes       int
	by, without string
}

// neededOf a control plane: a majority for etcd, unless that is known to run elsewhere.
func (s *Snapshot) neededOf(machines []*clusterv1.Machine) need {
	if s.hasExternalDatastore(machines) {
		return need{nodes: 1, by: "the API", without: "no other control plane node serves it"}
	}
	return need{nodes: len(machines)/2 + 1, by: "etcd", without: "etcd has no majority without it"}
}

// judgeQuorumLoss says what it means that the API is down without a node. A request is not refused for the
// want of consent: the attempt waits for it.
func (s *Snapshot) judgeQuorumLoss(subject *Subject, why string) []infrav1.PreflightResult {
	judge, remedy := block, ". Set nodeUpgradeOption.allowQuorumLoss in ElementalCluster "+s.Cluster.Spec.InfrastructureRef.Name+" to permit that"
	switch {
	case s.allowsQuorumLoss():
		judge, remedy = warn, ", which allowQuorumLoss permits"
	case subject.Attempt == "":
		judge = warn
	}
	return judge("Cluster/"+s.Cluster.Name, fmt.Sprintf("loses its API while Node %s is down (%s): %s%s",
		subject.Node.Name, s.outage(subject), why, remedy))
}

// allowsQuorumLoss reports whether an operator accepts that etcd has no majority while a host reboots. It is read as it is now, and
// not as it was when the rollout began: it is the way on for an attempt that waits.
func (s *Snapshot) allowsQuorumLoss() bool {
	return s.ElementalCluster != nil && s.ElementalCluster.Spec.NodeUpgradeOption.AllowQuorumLoss
}

// unhealthyOthers says of the other control plane Machines which cannot be counted on, and why, by name, and names those that are only
// not known yet to have a kubelet that is alive.
func (s *Snapshot) unhealthyOthers(machines []*clusterv1.Machine, subject *Subject) (found, awaited []string) {
	for _, machine := range machines {
		if machine.Name == subject.Machine.Name {
			continue
		}
		node := s.node(machine.Status.NodeRef.Name)
		unhealthy, stopped := unhealthyConditions(machine, subject.Attempt == ""), s.stoppedOn(machine.Status.NodeRef.Name)
		switch {
		case node == nil || !workload.IsReady(node):
			found = append(found, "the Node of Machine "+machine.Name+" is not Ready")
		case s.Heartbeats[node.Name] == Silent:
			found = append(found, "the kubelet of Machine "+machine.Name+" is silent")
		case len(stopped) > 0:
			found = append(found, strings.Join(stopped, ", ")+" on the Node of Machine "+machine.Name+" is not Ready")
		case len(unhealthy) > 0:
			found = append(found, "Machine "+machine.Name+" is not "+strings.Join(unhealthy, ", "))
		case s.Heartbeats[node.Name] == Awaited:
			awaited = append(awaited, machine.Name)
		}
	}
	slices.Sort(found)
	return found, awaited // as machines are sorted
}

// unhealthyConditions are those that KubeadmControlPlane finds wrong. Where an upgrade is only requested, what it does not
// know rejects nothing: that may be ten minutes old, and the template's controller has it look again.
func unhealthyConditions(machine *clusterv1.Machine, certain bool) []string {
	return slices.DeleteFunc(owner.Unhealthy(machine), func(name string) bool { return certain && conditions.IsUnknown(machine, name) })
}

// controlPlane Machines of the cluster, by name.
func (s *Snapshot) controlPlane() []*clusterv1.Machine {
	machines := []*clusterv1.Machine{}
	for i := range s.Machines {
		if util.IsControlPlaneMachine(&s.Machines[i]) {
			machines = append(machines, &s.Machines[i])
		}
	}
	slices.SortFunc(machines, func(a, b *clusterv1.Machine) int { return cmp.Compare(a.Name, b.Name) })
	return machines
}
