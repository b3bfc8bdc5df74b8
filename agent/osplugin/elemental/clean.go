// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// Clean removes what a killed "elemental upgrade" left behind: two mounts, a writable EFI partition and
// half a snapshot. A retry over them exits with 0 and makes the half snapshot the first fallback.
func (p *Plugin) Clean(ctx context.Context) error {
	if err := p.cleanMounts(ctx); err != nil {
		return err
	}
	if err := p.detachLoops(ctx); err != nil {
		return err
	}
	booted, err := p.booted()
	if err != nil {
		return err
	}
	state, err := p.readState()
	if err != nil {
		return err
	}
	rubbish, err := p.rubbish(state, booted)
	if err != nil {
		return err
	}
	if err := p.repairDefault(ctx, state, rubbish, booted); err != nil {
		return err
	}
	for _, id := range rubbish {
		p.log.Info("Removing what is left of a killed upgrade", "snapshot", id)
		if err := p.remove(ctx, state, id); err != nil {
			return err
		}
	}
	return nil
}

// cleanMounts goes by the mount table: unmounting what is not mounted fails with the same exit code as
// everything else. The CLI runs in a mount namespace of its own, which leaves none; those of one that was called by hand, or by
// an agent of old, are beneath each other, and may have been propagated to where the trees of snapshots lie.
func (p *Plugin) cleanMounts(ctx context.Context) error {
	mounts, err := p.host.Mounts()
	if err != nil {
		return err
	}
	if err := p.unmount(ctx, mounts, isUpgradeMount); err != nil {
		return err
	}
	return p.closeEFI(ctx)
}

// unmount unmounts the targets that are chosen, deepest first.
func (p *Plugin) unmount(ctx context.Context, mounts []system.Mount, chosen func(target string) bool) error {
	left := slices.DeleteFunc(slices.Clone(mounts), func(each system.Mount) bool { return !chosen(each.Target) })
	slices.Reverse(left)
	slices.SortStableFunc(left, func(a, b system.Mount) int { return strings.Count(b.Target, "/") - strings.Count(a.Target, "/") })
	for _, each := range left {
		p.log.Info("Unmounting what is left of a killed elemental command", "target", each.Target)
		if _, err := system.Check(ctx, p.host.Runner, "umount", p.host.Path(each.Target)); err != nil && p.stillMounted(each.Target) {
			return err
		}
	}
	return nil
}

// stillMounted reports whether something is mounted there now: a mount that was propagated is unmounted together with its origin.
func (p *Plugin) stillMounted(target string) bool {
	mounts, err := p.host.Mounts()
	if err != nil {
		return true
	}
	_, found := system.MountedAt(mounts, target)
	return found
}

func isUpgradeMount(target string) bool {
	return slices.ContainsFunc(upgradeMounts, func(own string) bool { return within(target, own) }) || workDirMount.MatchString(target)
}

func within(target, directory string) bool {
	return target == directory || strings.HasPrefix(target, directory+"/")
}

// rubbish are the snapshots that no boot can use, and those that are newer than all that an upgrade
// ever recorded: their upgrade did not come to its end. The booted one is never among them.
func (p *Plugin) rubbish(state installState, booted int32) ([]int32, error) {
	entries, err := os.ReadDir(p.snapshotsPath())
	if err != nil {
		return nil, fmt.Errorf("listing snapshots: %w", err)
	}
	newest := booted
	for id := range state.State.Snapshots {
		newest = max(newest, id)
	}
	var rubbish []int32
	for _, entry := range entries {
		id, err := parseID(entry.Name())
		if err != nil || id == booted {
			continue // not a snapshot, or not to be touched
		}
		_, recorded := state.State.Snapshots[id]
		if !p.layout(state).whole(id) || (!recorded && id > newest) {
			rubbish = append(rubbish, id)
		}
	}
	return rubbish, nil
}

// repairDefault makes the booted snapshot the default again when the default is about to be removed, or is gone: the CLI removes the link
// to it before it makes the next one.
func (p *Plugin) repairDefault(ctx context.Context, state installState, rubbish []int32, booted int32) error {
	layout := p.layout(state)
	next, err := layout.next(ctx)
	if err != nil || !slices.Contains(rubbish, next) && layout.whole(next) {
		return err
	}
	if !layout.whole(booted) {
		return nil // an OS that is no snapshot has no link
	}
	return p.replaceDefault(ctx, state, booted, next)
}

// replaceDefault has the booted snapshot be the default in place of one that is to be removed.
func (p *Plugin) replaceDefault(ctx context.Context, state installState, booted, bad int32) error {
	if state.Snapshotter.Type == btrfs {
		return p.BootAlways(ctx, booted, bad) // GRUB's active_snap would name what is gone
	}
	return p.layout(state).setNext(ctx, booted)
}
