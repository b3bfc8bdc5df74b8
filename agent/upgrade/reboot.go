// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"fmt"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// reboot reboots the host until its boot id has changed.
func (m *Machine) reboot(ctx context.Context, _ *wire.Upgrade) (bool, error) {
	marker := m.Marker()
	facts, err := m.Plugin.Facts(ctx)
	if err != nil {
		return false, err
	}
	if facts.BootID != marker.FromBootID {
		marker.Phase = wire.PhaseAssessing
		return true, m.save(marker)
	}
	if err := m.Plugin.BootNewest(ctx); err != nil {
		return false, fmt.Errorf("choosing the next boot: %w", err)
	}
	return false, m.goDown(ctx)
}

// goDown informs the API before the reboot, but does not depend on it.
func (m *Machine) goDown(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, m.Policy.FlushTimeout)
	m.Reporter.Flush(bounded)
	cancel()
	m.Log.Info("Rebooting", "attempt", m.Marker().Attempt)
	return m.Plugin.Reboot(ctx)
}
