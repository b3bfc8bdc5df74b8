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

// strayed reports whether the host runs an unverified snapshot. The former OS is another one then, and writing an image from here would
// remove the last snapshot that is good.
func strayed(facts osplugin.Facts, marker Marker) bool {
	return facts.Unfinished && facts.Snapshot != 0 && facts.Snapshot != marker.FromSnapshot
}

// leave goes back to the former OS from a snapshot that is not good. It is a failure of writing the image, counted once in each boot.
func (m *Machine) leave(ctx context.Context, facts osplugin.Facts, cause error) (bool, error) {
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
		return m.fail(cause.Error() + "; it ran before the upgrade, too, so that nothing is known to go back to")
	}
	if marker.Failures >= 2*m.Policy.MaxFailures {
		return m.fail(fmt.Sprintf("%s; snapshot %d was to be booted again, but %d was", cause, marker.FromSnapshot, facts.Snapshot))
	}
	err := m.Plugin.BootAlways(ctx, marker.FromSnapshot, facts.Snapshot)
	if errors.Is(err, osplugin.ErrNoSuchSnapshot) {
		return m.fail(fmt.Sprintf("%s; the former snapshot %d does not exist any more", cause, marker.FromSnapshot))
	}
	if err != nil {
		return false, fmt.Errorf("making snapshot %d the default: %w", marker.FromSnapshot, err)
	}
	return false, m.goDown(ctx)
}

// discardLeft removes the snapshot that was left, once another one runs.
func (m *Machine) discardLeft(ctx context.Context, facts osplugin.Facts) error {
	marker := m.Marker()
	if marker.LeftSnapshot == 0 || marker.LeftSnapshot == facts.Snapshot {
		return nil
	}
	m.discard(ctx, marker.LeftSnapshot)
	marker.LeftSnapshot = 0
	return m.save(marker)
}
