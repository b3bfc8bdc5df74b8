// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"errors"
	"fmt"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// assess assesses the boot after the reboot.
func (m *Machine) assess(ctx context.Context, _ *wire.Upgrade) (bool, error) {
	marker := m.Marker()
	facts, err := m.Plugin.Facts(ctx)
	if err != nil {
		return false, err
	}
	if facts.Snapshot != marker.WantedSnapshot {
		return m.fellBack(ctx, facts, marker)
	}
	if wrong := wrongBoot(facts, marker); wrong != "" {
		return m.beginRevert(facts, m.badBoot(wrong))
	}
	verdict, err := m.judge(ctx, facts)
	if err != nil {
		return false, err
	}
	if verdict.State != assess.Good {
		return m.beginRevert(facts, verdict)
	}
	return m.succeed(verdict)
}

// fellBack ends the attempt on the former snapshot. The boot loader tries the newest snapshot first, which may be a bad one of an earlier
// attempt: from that, the host reverts to the former OS.
func (m *Machine) fellBack(ctx context.Context, facts osplugin.Facts, marker Marker) (bool, error) {
	reason := otherBooted(facts, marker)
	marker.record(m.badBoot(reason).Checks)
	message := marker.warned(reason)
	if facts.Snapshot == 0 || facts.Snapshot == marker.FromSnapshot {
		if err := m.save(marker); err != nil {
			return false, err
		}
		return m.rolledBack(ctx, facts, message)
	}
	marker.Phase, marker.RevertBootID = PhaseReverting, facts.BootID
	marker.Message = fmt.Sprintf("%s; reverting to %d", message, marker.FromSnapshot)
	return true, m.save(marker)
}

func otherBooted(facts osplugin.Facts, marker Marker) string {
	if facts.Snapshot == 0 {
		return fmt.Sprintf("booted the %s system, wanted snapshot %d (%s)", facts.Mode, marker.WantedSnapshot, marker.Digest)
	}
	return fmt.Sprintf("booted snapshot %d in %s mode, wanted %d (%s)", facts.Snapshot, facts.Mode, marker.WantedSnapshot, marker.Digest)
}

// wrongBoot returns what is wrong with a boot of the wanted snapshot, before any other check.
func wrongBoot(facts osplugin.Facts, marker Marker) string {
	switch {
	case facts.Mode != osplugin.ModeActive:
		return fmt.Sprintf("it booted in %s mode", facts.Mode)
	case facts.Unfinished:
		return errUnfinished.Error()
	case facts.Digest != marker.Digest:
		return fmt.Sprintf("it was made from %s", facts.Digest)
	case facts.Attempt != marker.Attempt:
		return fmt.Sprintf("it was written for another attempt (%q)", facts.Attempt)
	}
	return ""
}

func (m *Machine) succeed(verdict assess.Verdict) (bool, error) {
	marker := m.Marker()
	marker.Phase, marker.Message = wire.PhaseSucceeded, marker.warned(verdict.Message())
	marker.record(verdict.Checks)
	return false, m.end(marker)
}

// rolledBack ends the attempt on another snapshot than the wanted one. That snapshot is made the default before anything is reported: a
// fallback is not persistent, and the next reboot would boot the bad snapshot again.
func (m *Machine) rolledBack(ctx context.Context, facts osplugin.Facts, message string) (bool, error) {
	if facts.Snapshot != 0 {
		if err := m.keep(ctx, facts); err != nil {
			return false, err
		}
	}
	verdict, err := m.former(ctx, facts)
	if err != nil {
		return false, err
	}
	if verdict.State != assess.Good && verdict.Message() != "" {
		message += "; the former OS is not healthy: " + verdict.Message()
	}
	return m.endRolledBack(verdict, message)
}

// keep makes the booted snapshot the default, and removes the bad one, which the CLI would otherwise make the first fallback of the next.
func (m *Machine) keep(ctx context.Context, facts osplugin.Facts) error {
	_, err := m.alone(ctx, func() (bool, error) {
		marker := m.Marker()
		if err := m.Plugin.BootAlways(ctx, facts.Snapshot, marker.WantedSnapshot); err != nil {
			return false, fmt.Errorf("making snapshot %d the default: %w", facts.Snapshot, err)
		}
		m.discard(ctx, marker.WantedSnapshot)
		return false, ctx.Err()
	})
	return err
}

// discard removes a bad snapshot, if possible. Its record is removed first, so that Clean removes the rest before the next image is written;
// a failure does not keep the attempt from ending.
func (m *Machine) discard(ctx context.Context, snapshot int32) {
	if err := m.Plugin.Discard(ctx, snapshot); err != nil {
		m.Log.Error("Removing a bad snapshot failed", "snapshot", snapshot, "error", err)
	}
}

// former assesses the OS to which the host fell back. The recovery system is not assessed, and counts as bad.
func (m *Machine) former(ctx context.Context, facts osplugin.Facts) (assess.Verdict, error) {
	if facts.Snapshot == 0 {
		return unhealthy, nil
	}
	return m.judge(ctx, facts)
}

// unhealthy is the verdict on an OS that is not assessed.
var unhealthy = assess.Verdict{State: assess.Bad}

func (m *Machine) endRolledBack(former assess.Verdict, message string) (bool, error) {
	marker := m.Marker()
	marker.Phase, marker.Healthy, marker.Message = wire.PhaseRolledBack, former.State == assess.Good, message
	marker.record(former.Checks)
	return false, m.end(marker)
}

// beginRevert starts reverting from a wanted snapshot that booted and is bad.
func (m *Machine) beginRevert(facts osplugin.Facts, verdict assess.Verdict) (bool, error) {
	marker := m.Marker()
	marker.Phase, marker.RevertBootID = PhaseReverting, facts.BootID
	marker.Message = marker.warned(fmt.Sprintf("booted snapshot %d (%s), but its assessment failed: %s", facts.Snapshot, marker.Digest, verdict.Message()))
	marker.record(verdict.Checks)
	return true, m.save(marker)
}

// revert boots the former snapshot. The bad one may be booted again if the host goes down before the change of the next boot is on the disk:
// that is repeated a few times.
func (m *Machine) revert(ctx context.Context, _ *wire.Upgrade) (bool, error) {
	marker := m.Marker()
	facts, err := m.Plugin.Facts(ctx)
	if err != nil {
		return false, err
	}
	if facts.BootID == marker.RevertBootID {
		return m.bootFormer(ctx, facts, marker)
	}
	if facts.Snapshot != marker.WantedSnapshot {
		return m.rolledBack(ctx, facts, marker.Message)
	}
	if marker.Reverts++; marker.Reverts >= m.Policy.MaxFailures {
		return m.endRolledBack(unhealthy, fmt.Sprintf("%s; expected to boot snapshot %d again, but %d was booted",
			marker.Message, marker.FromSnapshot, facts.Snapshot))
	}
	marker.RevertBootID = facts.BootID
	return true, m.save(marker)
}

func (m *Machine) bootFormer(ctx context.Context, facts osplugin.Facts, marker Marker) (bool, error) {
	_, err := m.alone(ctx, func() (bool, error) {
		return false, m.Plugin.BootAlways(ctx, marker.FromSnapshot, marker.WantedSnapshot)
	})
	if errors.Is(err, osplugin.ErrNoSuchSnapshot) {
		message := fmt.Sprintf("%s; the former snapshot %d no longer exists", marker.Message, marker.FromSnapshot)
		if facts.Snapshot != marker.WantedSnapshot {
			return m.rolledBack(ctx, facts, message) // the running OS is the only one left
		}
		return m.endRolledBack(unhealthy, message)
	}
	if err != nil {
		return false, fmt.Errorf("making snapshot %d the default: %w", marker.FromSnapshot, err)
	}
	return false, m.goDown(ctx)
}
