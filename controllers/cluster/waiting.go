// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
)

// sayWhoWaits says, for each pool, which nodes wait for their turn because others are paused, and what to do.
func sayWhoWaits(nodes []node) []string {
	said, pools := []string{}, []string{}
	for _, n := range nodes {
		if !slices.Contains(pools, n.pool) {
			pools = append(pools, n.pool)
		}
	}
	for _, pool := range pools {
		unfinished, waiting := []*infrav1.ElementalHostUpgrade{}, []string{}
		paused := []string{}
		for _, n := range nodes {
			switch _, urgent := n.news(); {
			case n.pool != pool:
			case n.attempt != nil && n.attempt.PhaseNow().IsActive():
				unfinished = append(unfinished, n.attempt)
				paused = append(paused, n.name)
			case urgent == waits:
				waiting = append(waiting, n.name)
			}
		}
		if len(waiting) == 0 || len(pausing.Blocking(unfinished, attempts.WaitsForApproval)) == 0 {
			continue
		}
		said = append(said, fmt.Sprintf("%s waiting for %s (remove its annotation %s)",
			strings.Join(shortened(waiting), " "), strings.Join(shortened(paused), " "), infrav1.NodeUpgradePauseAnnotation))
	}
	return said
}
