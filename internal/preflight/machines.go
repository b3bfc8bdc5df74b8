// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// checkMachines makes sure that no other node is just coming or going.
func checkMachines(s *Snapshot, subject *Subject) []infrav1.PreflightResult {
	found := []infrav1.PreflightResult{}
	for i := range s.Machines {
		machine := &s.Machines[i]
		if machine.Name != subject.Machine.Name {
			found = append(found, s.judgeMachine(machine)...)
		}
	}
	return found
}

func (s *Snapshot) judgeMachine(machine *clusterv1.Machine) []infrav1.PreflightResult {
	object := "Machine/" + machine.Name
	switch phase := clusterv1.MachinePhase(machine.Status.Phase); phase {
	case clusterv1.MachinePhaseDeleting:
		if node := s.node(machine.Status.NodeRef.Name); node != nil && workload.IsReady(node) {
			// A deletion may be held for days, by a PodDisruptionBudget for one, and must not hold the others.
			return warn(object, "is being deleted and its node has not gone: see what its condition Deleting waits for")
		}
		return warn(object, "is being deleted")
	case clusterv1.MachinePhasePending, clusterv1.MachinePhaseProvisioning, clusterv1.MachinePhaseProvisioned:
		if s.hostOf(machine) == nil {
			return warn(object, "is "+string(phase)+" and has no host yet")
		}
		return block(object, "is "+string(phase)+" and not Running yet: wait until its node has joined, or delete it")
	default: // Running, Updating, which is an upgrade like this one, and phases that nobody has written yet
		return pass()
	}
}
