// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pausing

import (
	"slices"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Names reports whether the strategy pauses a node; Manual with no names pauses them all.
func Names(strategy infrav1.NodeUpgradeStrategy, node string) bool {
	if !strategy.IsManual() {
		return false
	}
	return len(strategy.PauseNodes) == 0 || slices.Contains(strategy.PauseNodes, node)
}

// Unknown are the names of the strategy, sorted, that are not nodes of the cluster. In mode Auto they are
// ignored.
func Unknown(strategy infrav1.NodeUpgradeStrategy, nodes []string) []string {
	unknown := []string{}
	if !strategy.IsManual() {
		return unknown
	}
	for _, name := range strategy.PauseNodes {
		if !slices.Contains(nodes, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown)
}
