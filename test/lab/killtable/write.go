// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package killtable

import (
	"slices"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/admission"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
)

const (
	// program is the file name of our manager, which distinguishes its writes from others' in the workload cluster.
	program = "manager"
	// ofGuest is the suffix of the edge of an eviction that requests the migration of a virtual machine.
	ofGuest = " of a virtual machine"
)

// isOurs reports whether the write is our manager's. Cluster API is the same user in the workload cluster. The client
// of a deletion is unknown there, but Cluster API does not delete objects of KubeVirt.
func isOurs(w *admission.Write) bool {
	deletesGuest := w.Verb == "delete" && strings.HasPrefix(w.Resource, "virtualmachine")
	return w.Cluster != workload || w.Writer() == program || deletesGuest
}

// edgesOf a write: one for each change.
func edgesOf(w *admission.Write) []Edge {
	edges := []Edge{}
	for _, effect := range w.Effects() {
		name := w.Cluster + " " + w.Resource + " " + effect
		if isEvictionOfGuest(w) {
			name += ofGuest
		}
		edges = append(edges, Edge(name))
	}
	return edges
}

func isEvictionOfGuest(w *admission.Write) bool {
	return w.Resource == "pods/eviction" && w.Namespace == vm.Namespace
}

// momentsOf a write: before it is stored, and after. For an eviction, KubeVirt's webhook is called concurrently with
// ours and acts on it; the moment before is therefore that of the manager's dry run.
func momentsOf(w *admission.Write, edges []Edge) (firsts, lasts []cell) {
	if !isEvictionOfGuest(w) || w.Trial {
		firsts = cells(edges, before)
	}
	if !w.Trial {
		lasts = cells(edges, after)
	}
	return firsts, lasts
}

// isReport reports whether the manager records a report of the agent, which is also a side effect of the agent.
func isReport(w *admission.Write, edges []Edge) bool {
	return w.Resource == "elementalhosts/status" && strings.Contains(string(edges[len(edges)-1]), " status.")
}

// tellsEnd reports whether the manager records that the attempt has ended on the host, or was forgotten there. The host
// runs no command after that, which would be the next moment.
func tellsEnd(edges []Edge) bool {
	return slices.ContainsFunc(edges, func(e Edge) bool {
		return e == management+" elementalhosts/status status.upgrade.phase=nothing" ||
			e == management+" elementalhosts/status status.upgrade.phase=Succeeded"
	})
}
