// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// checkOtherNodes makes sure that the cluster does not lose a second node, and says what the reboot of its only one means.
func checkOtherNodes(s *Snapshot, subject *Subject) []infrav1.PreflightResult {
	others := s.sortOthers(subject)
	others.notReady = slices.DeleteFunc(others.notReady, s.isReleased)
	switch {
	case len(s.Nodes) == 1:
		return warn("Node/"+subject.Node.Name, "is the only Node of its cluster: it is neither cordoned nor drained, "+
			"and all that runs on it is down until its host has rebooted ("+s.outage(subject)+")")
	case len(others.notReady) > 0:
		return block("Node/"+names(others.notReady), "is not Ready: the cluster must not lose another node")
	case len(others.strangers) > 0:
		return warn("Node/"+names(others.strangers), "is not Ready and belongs to no Machine: delete it if its host is gone")
	case len(others.left) > 0:
		return warn("Node/"+names(others.left), fmt.Sprintf(
			"was left cordoned by ElementalHostUpgrade %s and takes no Pods from the node that is drained: give its Machine a good image, or kubectl uncordon it",
			cordoners(others.left)))
	case len(others.cordoned) > 0:
		return warn("Node/"+names(others.cordoned), "is cordoned and takes no Pods from the node that is drained")
	}
	return pass()
}

// otherNodes are those that are not as they should be.
type otherNodes struct {
	notReady []*corev1.Node
	// strangers are not Ready either, but do not count as nodes that the cluster has: a Node of no Machine is
	// what a lost host leaves that came back after its Machine was deleted, and Cluster API does not clean it up.
	strangers []*corev1.Node
	// left are cordoned by an attempt that has ended.
	left     []*corev1.Node
	cordoned []*corev1.Node
}

// sortOthers leaves out nodes whose attempts hold a slot: they are expected to be down, and counted there. An attempt
// that has given its slot back may have left its node cordoned, and that node may go down like any other.
func (s *Snapshot) sortOthers(subject *Subject) otherNodes {
	others := otherNodes{}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		by := workload.CordonedBy(node)
		switch {
		case node.Name == subject.Node.Name || by != "" && s.isAdmitted(by):
		case !workload.IsReady(node) && !isNodeOfAny(node, s.Machines):
			others.strangers = append(others.strangers, node)
		case !workload.IsReady(node):
			others.notReady = append(others.notReady, node)
		case by != "":
			others.left = append(others.left, node)
		case node.Spec.Unschedulable:
			others.cordoned = append(others.cordoned, node)
		}
	}
	return others
}

// upgrading are the names of the nodes whose attempts hold slots.
func (s *Snapshot) upgrading() sets.Set[string] {
	names := sets.New[string]()
	for i := range s.Nodes {
		if by := workload.CordonedBy(&s.Nodes[i]); by != "" && s.isAdmitted(by) {
			names.Insert(s.Nodes[i].Name)
		}
	}
	return names
}

// isAdmitted reports whether an attempt holds a slot.
func (s *Snapshot) isAdmitted(attempt string) bool {
	return s.ElementalCluster != nil && slices.ContainsFunc(s.ElementalCluster.Status.UpgradeSlots,
		func(slot infrav1.UpgradeSlot) bool { return slot.Attempt == attempt })
}

// isReleased reports whether a node is that of a lost host that a person has said not to wait for.
func (s *Snapshot) isReleased(node *corev1.Node) bool {
	attempt := s.attempt(cordoner(node))
	return attempt != nil && attempt.Status.Phase == infrav1.UpgradeHostLost && attempt.Spec.Release
}

// cordoner is the name of the attempt that has cordoned a node; empty if none has.
func cordoner(node *corev1.Node) string {
	name, _, cordoned := strings.Cut(workload.CordonedBy(node), "/")
	if !cordoned {
		return ""
	}
	return name
}

// isNodeOfAny reports whether a Node is that of one of the Machines. One that is new has no nodeRef yet.
func isNodeOfAny(node *corev1.Node, machines []clusterv1.Machine) bool {
	return slices.ContainsFunc(machines, func(machine clusterv1.Machine) bool {
		return machine.Status.NodeRef.Name == node.Name ||
			machine.Spec.ProviderID != "" && machine.Spec.ProviderID == node.Spec.ProviderID
	})
}

func names(nodes []*corev1.Node) string {
	return joined(nodes, func(node *corev1.Node) string { return node.Name })
}

// cordoners are the attempts that have cordoned the nodes.
func cordoners(nodes []*corev1.Node) string {
	return joined(nodes, func(node *corev1.Node) string {
		name, _, _ := strings.Cut(workload.CordonedBy(node), "/")
		return name
	})
}
