// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

const (
	// harvesterMaintenance on a Node is "running" or "completed" while the node is in Harvester's maintenance mode.
	harvesterMaintenance = "harvesterhci.io/maintain-status"
	// medik8sDrain is the key of the taint of medik8s' node-maintenance-operator.
	medik8sDrain = "medik8s.io/drain"
)

// checkMaintenance leaves nodes to whoever has taken them out of service, and the others up meanwhile.
func checkMaintenance(s *Snapshot, subject *Subject) []infrav1.PreflightResult {
	found := []infrav1.PreflightResult{}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		by := maintainedBy(node)
		switch {
		case by == "":
		case node.Name == subject.Node.Name:
			found = append(found, block("Node/"+node.Name, "is in maintenance ("+by+"): end that to let its upgrade start")...)
		default:
			found = append(found, block("Node/"+node.Name, "is in maintenance ("+by+") and may go down at any time: end that before another node goes down")...)
		}
	}
	return found
}

// maintainedBy names the mark of a maintenance; empty if there is none.
func maintainedBy(node *corev1.Node) string {
	if _, found := node.Annotations[harvesterMaintenance]; found {
		return "annotation " + harvesterMaintenance
	}
	if _, found := node.Labels[harvesterMaintenance]; found {
		return "label " + harvesterMaintenance
	}
	if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == medik8sDrain }) {
		return "taint " + medik8sDrain
	}
	return ""
}
