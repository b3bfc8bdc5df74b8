// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pausing

import (
	"cmp"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// MachineDeploymentPool is the prefix of the pools of MachineDeployments. The name of the MachineDeployment follows.
const MachineDeploymentPool = "MachineDeployment/"

// Pool names the MachineDeployment or control plane of a Machine, or of its ElementalMachine, by its labels; empty
// if it has none. Cluster API limits how many Machines of a pool are updated at a time, and a paused one counts.
func Pool(labels map[string]string) string {
	if name := labels[clusterv1.MachineDeploymentNameLabel]; name != "" {
		return MachineDeploymentPool + name
	}
	if name := labels[clusterv1.MachineControlPlaneNameLabel]; name != "" {
		return "ControlPlane/" + name
	}
	return ""
}

// Blocking returns, by node, the paused attempts for which the other nodes of a pool wait: all paused attempts of the pool, or none while
// any other attempt is in progress, whose end would let another node begin.
func Blocking(unfinished []*infrav1.ElementalHostUpgrade, isPaused func(*infrav1.ElementalHostUpgrade) bool) []*infrav1.ElementalHostUpgrade {
	for _, attempt := range unfinished {
		if !isPaused(attempt) {
			return nil
		}
	}
	blocking := slices.Clone(unfinished)
	slices.SortFunc(blocking, func(a, b *infrav1.ElementalHostUpgrade) int {
		return cmp.Or(cmp.Compare(a.Status.NodeName, b.Status.NodeName), cmp.Compare(a.Name, b.Name))
	})
	return blocking
}
