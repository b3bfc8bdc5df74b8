// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"fmt"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
)

// clean removes the remains of a killed upgrade. If they are busy it retries a few times, then reboots once to release them; if they still
// cannot be removed after the reboot, the attempt fails. It returns false if the attempt has ended.
func (m *Machine) clean(ctx context.Context, facts osplugin.Facts) (bool, error) {
	cause := m.Plugin.Clean(ctx)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	marker := m.Marker()
	if cause == nil && marker.CleanFailures == 0 {
		return true, nil
	}
	if cause == nil {
		marker.CleanFailures, marker.CleanBootID = 0, ""
		return true, m.save(marker)
	}
	if marker.CleanFailures == 0 {
		marker.CleanBootID = facts.BootID
	}
	marker.CleanFailures++
	if err := m.save(marker); err != nil {
		return false, err
	}
	return m.cannotClean(ctx, facts, marker, fmt.Errorf("removing the remains of a killed upgrade: %w", cause))
}

func (m *Machine) cannotClean(ctx context.Context, facts osplugin.Facts, marker Marker, cause error) (bool, error) {
	switch {
	case marker.CleanFailures < m.Policy.MaxFailures:
		return false, cause
	case facts.BootID == marker.CleanBootID:
		m.Log.Error("Rebooting to remove the remains of a killed upgrade", "attempt", marker.Attempt, "error", cause)
		m.keepBooted(ctx, facts, 0)
		return false, m.goDown(ctx)
	case marker.CleanFailures < 2*m.Policy.MaxFailures:
		return false, cause
	default:
		m.keepBooted(ctx, facts, 0)
		return m.fail(fmt.Sprintf("%s; a reboot did not help: check the mounts and loop devices of the host", cause))
	}
}

// keepBooted makes the booted snapshot the default of the next boot, and every other snapshot except a bad one (0 for none) a fallback, if
// possible.
func (m *Machine) keepBooted(ctx context.Context, facts osplugin.Facts, bad int32) {
	if err := m.Plugin.BootAlways(ctx, facts.Snapshot, bad); err != nil {
		m.Log.Error("Making the booted snapshot the default failed", "snapshot", facts.Snapshot, "error", err)
	}
}
