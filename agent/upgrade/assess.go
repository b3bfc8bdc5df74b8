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

// assess judges the boot after the reboot.
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
		return m.turnBack(facts, m.wrongly(wrong))
	}
	verdict, err := m.judge(ctx, facts)
	if err != nil {
		return false, err
	}
	if verdict.State != assess.Good {
		return m.turnBack(facts, verdict)
	}
	return m.succeed(verdict)
}

// fellBack ends the attempt on the former snapshot. The boot loader tries the newest one first, which may be one that was
// found bad before: from there, too, the host goes back to what ran before.
func (m *Machine) fellBack(ctx context.Context, facts osplugin.Facts, marker Marker) (bool, error) {
	reason := otherBooted(facts, marker)
	marker.record(m.wrongly(reason).Checks)
	message := marker.warned(reason)
	if facts.Snapshot == 0 || facts.Snapshot == marker.FromSnapshot {
		if err := m.save(marker); err != nil {
			return false, err
		}
		return m.rolledBack(ctx, facts, message)
	}
	marker.Phase, marker.RevertBootID = PhaseReverting, facts.BootID
	marker.Message = fmt.Sprintf("%s; going back to %d", message, marker.FromSnapshot)
	return true, m.save(marker)
}

func otherBooted(facts osplugin.Facts, marker Marker) string {
	if facts.Snapshot == 0 {
		return fmt.Sprintf("booted the %s system, wanted snapshot %d (%s)", facts.Mode, marker.WantedSnapshot, marker.Digest)
	}
	return fmt.Sprintf("booted snapshot %d in %s mode, wanted %d (%s)", facts.Snapshot, facts.Mode, marker.WantedSnapshot, marker.Digest)
}

// wrongBoot says what is wrong with a boot of the wanted snapshot before anything is asked of it.
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

// rolledBack ends the attempt on another snapshot than the wanted one. That snapshot is made the
// default before anything is reported: a fallback is not sticky, and the next reboot, whoever wants
// it, would boot the bad snapshot again.
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

// keep makes the booted snapshot the default, and removes the one that is bad: the CLI would make it the first fallback of the next.
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

// discard removes a snapshot that is bad, as far as that is possible. It is no longer recorded then, so that Clean removes the rest of
// it before the next image is written; an attempt ends all the same.
func (m *Machine) discard(ctx context.Context, snapshot int32) {
	if err := m.Plugin.Discard(ctx, snapshot); err != nil {
		m.Log.Error("Removing a bad snapshot failed", "snapshot", snapshot, "error", err)
	}
}

// former judges the OS that the host fell back to. The recovery system is not asked, and is none that is good.
func (m *Machine) former(ctx context.Context, facts osplugin.Facts) (assess.Verdict, error) {
	if facts.Snapshot == 0 {
		return notGood, nil
	}
	return m.judge(ctx, facts)
}

// notGood is the verdict on an OS of which nothing is asked.
var notGood = assess.Verdict{State: assess.Bad}

func (m *Machine) endRolledBack(former assess.Verdict, message string) (bool, error) {
	marker := m.Marker()
	marker.Phase, marker.Healthy, marker.Message = wire.PhaseRolledBack, former.State == assess.Good, message
	marker.record(former.Checks)
	return false, m.end(marker)
}

// turnBack begins the way back from a wanted snapshot that booted and is bad.
func (m *Machine) turnBack(facts osplugin.Facts, verdict assess.Verdict) (bool, error) {
	marker := m.Marker()
	marker.Phase, marker.RevertBootID = PhaseReverting, facts.BootID
	marker.Message = marker.warned(fmt.Sprintf("booted snapshot %d (%s), but its assessment failed: %s", facts.Snapshot, marker.Digest, verdict.Message()))
	marker.record(verdict.Checks)
	return true, m.save(marker)
}

// revert boots the former snapshot. The bad one may be booted again, when the host goes down before the choice of the boot is on its
// disk: that is tried a few times.
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
		return m.endRolledBack(notGood, fmt.Sprintf("%s; snapshot %d was to be booted again, but %d was",
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
		message := fmt.Sprintf("%s; the former snapshot %d does not exist any more", marker.Message, marker.FromSnapshot)
		if facts.Snapshot != marker.WantedSnapshot {
			return m.rolledBack(ctx, facts, message) // what runs is all that is left
		}
		return m.endRolledBack(notGood, message)
	}
	if err != nil {
		return false, fmt.Errorf("making snapshot %d the default: %w", marker.FromSnapshot, err)
	}
	return false, m.goDown(ctx)
}
