// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// checkPause denies pausing a rollout, as clusterctl alpha rollout pause does, while a Machine is moved from one MachineSet
// to another: when a MachineDeployment is paused, the annotations for the move are removed from its MachineSets, and one of them
// deletes the Machine (see package capiworkaround).
func (g *Guard) checkPause(ctx context.Context, of owner.Owner) error {
	const remedy = "; a Machine could be deleted. Retry in a few seconds, or pause the whole Cluster by its spec.paused"
	verdict, err := g.judge(ctx, of)
	if err != nil {
		return err
	}
	return firstReason(of, "spec.paused cannot be set now: ", []objection{
		{reason: verdict.NotQuiet, remedy: remedy},
		{reason: verdict.Between, remedy: remedy},
	})
}
