// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"errors"
	"fmt"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
)

// errUnfinished: a snapshot was booted before its upgrade had completed.
var errUnfinished = errors.New("it was booted before it was completely written; was the power lost?")

// bootedUnverified reports whether the host runs a snapshot whose upgrade did not complete. The good snapshot is then another one, and
// writing an image from here would remove it.
func bootedUnverified(facts osplugin.Facts, marker Marker) bool {
	return facts.Unfinished && facts.Snapshot != 0 && facts.Snapshot != marker.FromSnapshot
}

// abandon boots the former OS again from a snapshot that is not good. It counts as a failure of writing the image, once in each boot.
func (m *Machine) abandon(ctx context.Context, facts osplugin.Facts, cause error) (bool, error) {
	marker := m.Marker()
	cause = fmt.Errorf("snapshot %d: %w", facts.Snapshot, cause)
	if marker.LeftBootID != facts.BootID {
		marker.LeftSnapshot, marker.LeftBootID = facts.Snapshot, facts.BootID
		if err := m.saveFailure(marker, cause); err != nil {
			return false, err
		}
		marker = m.Marker()
	}
	if marker.FromSnapshot == facts.Snapshot {
		return m.fail(cause.Error() + "; it already ran before the upgrade, so no good snapshot is known")
	}
	if marker.Failures >= 2*m.Policy.MaxFailures {
		return m.fail(fmt.Sprintf("%s; expected to boot snapshot %d again, but %d was booted", cause, marker.FromSnapshot, facts.Snapshot))
	}
	err := m.Plugin.BootAlways(ctx, marker.FromSnapshot, facts.Snapshot)
	if errors.Is(err, osplugin.ErrNoSuchSnapshot) {
		return m.fail(fmt.Sprintf("%s; the former snapshot %d no longer exists", cause, marker.FromSnapshot))
	}
	if err != nil {
		return false, fmt.Errorf("making snapshot %d the default: %w", marker.FromSnapshot, err)
	}
	return false, m.goDown(ctx)
}

// removeAbandoned removes the abandoned snapshot, once another one runs.
func (m *Machine) removeAbandoned(ctx context.Context, facts osplugin.Facts) error {
	marker := m.Marker()
	if marker.LeftSnapshot == 0 || marker.LeftSnapshot == facts.Snapshot {
		return nil
	}
	m.discard(ctx, marker.LeftSnapshot)
	marker.LeftSnapshot = 0
	return m.save(marker)
}
