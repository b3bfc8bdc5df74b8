// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kills_test

import (
	"slices"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/admission"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
)

const (
	// program is the file name of our manager, which tells its writes from others' in the workload cluster.
	program = "manager"
	// ofGuest ends the edge of an eviction that is the order to migrate a virtual machine.
	ofGuest = " of a virtual machine"
)

// isOurs says whether our manager writes. Cluster API is the same user in the workload cluster. Who deletes is not told
// there, but Cluster API knows nothing of virtual machines.
func isOurs(w *admission.Write) bool {
	deletesGuest := w.Verb == "delete" && strings.HasPrefix(w.Resource, "virtualmachine")
	return w.Cluster != workload || w.Writer() == program || deletesGuest
}

// edgesOf a write: one for each thing that it changes.
func edgesOf(w *admission.Write) []edge {
	edges := []edge{}
	for _, effect := range w.Effects() {
		name := w.Cluster + " " + w.Resource + " " + effect
		if isEvictionOfGuest(w) {
			name += ofGuest
		}
		edges = append(edges, edge(name))
	}
	return edges
}

func isEvictionOfGuest(w *admission.Write) bool {
	return w.Resource == "pods/eviction" && w.Namespace == vm.Namespace
}

// momentsOf a write: before it is stored, and after. KubeVirt is asked about an eviction at the same time as we are, and
// does what it is told to; the moment before is when the manager tries the same as a dry run.
func momentsOf(w *admission.Write, edges []edge) (firsts, lasts []cell) {
	if !isEvictionOfGuest(w) || w.Trial {
		firsts = cells(edges, before)
	}
	if !w.Trial {
		lasts = cells(edges, after)
	}
	return firsts, lasts
}

// isReport says whether the manager writes down what the agent has told it: a side effect of the agent as well.
func isReport(w *admission.Write, edges []edge) bool {
	return w.Resource == "elementalhosts/status" && strings.Contains(string(edges[len(edges)-1]), " status.")
}

// tellsEnd says whether the manager writes down that the attempt has ended on the host, or is forgotten there. The host runs no command
// after that, which would be the next moment.
func tellsEnd(edges []edge) bool {
	return slices.ContainsFunc(edges, func(e edge) bool {
		return e == management+" elementalhosts/status status.upgrade.phase=nothing" ||
			e == management+" elementalhosts/status status.upgrade.phase=Succeeded"
	})
}
