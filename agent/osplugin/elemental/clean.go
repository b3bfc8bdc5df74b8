// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// Clean removes the remains of a killed "elemental upgrade": two mounts, a writable EFI partition and a partial snapshot. With these, a
// retry would exit with 0 and make the partial snapshot the first fallback.
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
	leftovers, err := p.leftovers(ctx, state, booted)
	if err != nil {
		return err
	}
	if err := p.repairDefault(ctx, state, leftovers, booted); err != nil {
		return err
	}
	for _, id := range leftovers {
		p.log.Info("Removing the remains of a killed upgrade", "snapshot", id)
		if err := p.remove(ctx, state, id); err != nil {
			return err
		}
	}
	return nil
}

// cleanMounts uses the mount table, since unmounting something that is not mounted fails with the same exit code as everything else. The
// agent runs the CLI in a mount namespace of its own, which leaves no mounts; those of a CLI that was run by hand, or by an older agent, are
// nested, and may have been propagated into the trees of snapshots.
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

// unmount unmounts the chosen targets, deepest first.
func (p *Plugin) unmount(ctx context.Context, mounts []system.Mount, chosen func(target string) bool) error {
	left := slices.DeleteFunc(slices.Clone(mounts), func(each system.Mount) bool { return !chosen(each.Target) })
	slices.Reverse(left)
	slices.SortStableFunc(left, func(a, b system.Mount) int { return strings.Count(b.Target, "/") - strings.Count(a.Target, "/") })
	for _, each := range left {
		p.log.Info("Unmounting the remains of a killed elemental command", "target", each.Target)
		if _, err := system.Check(ctx, p.host.Runner, "umount", p.host.Path(each.Target)); err != nil && p.stillMounted(each.Target) {
			return err
		}
	}
	return nil
}

// stillMounted reports whether something is mounted at target: a propagated mount disappears together with its origin.
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

// leftovers returns the snapshots that cannot be booted, and those newer than every recorded one: their upgrade did not complete. Where there is
// no default, they are those newer than the booted one, too: the CLI has recorded one and removed the link to it. The booted one is never among them.
func (p *Plugin) leftovers(ctx context.Context, state installState, booted int32) ([]int32, error) {
	next, err := p.layout(state).next(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(p.snapshotsPath())
	if err != nil {
		return nil, fmt.Errorf("listing snapshots: %w", err)
	}
	newest := max(booted, slices.Max(append(slices.Collect(maps.Keys(state.State.Snapshots)), 0)))
	var leftovers []int32
	for _, entry := range entries {
		id, err := parseID(entry.Name())
		if err != nil || id == booted {
			continue // not a snapshot, or must not be removed
		}
		_, recorded := state.State.Snapshots[id]
		unvouched := next == 0 && id > booted || !recorded && id > newest
		if unvouched || !p.layout(state).whole(id) {
			leftovers = append(leftovers, id)
		}
	}
	return leftovers, nil
}

// repairDefault makes the booted snapshot the default again if the default will be removed, or is missing: the CLI removes the link to the
// former default before it creates the next.
func (p *Plugin) repairDefault(ctx context.Context, state installState, leftovers []int32, booted int32) error {
	layout := p.layout(state)
	next, err := layout.next(ctx)
	if err != nil || !slices.Contains(leftovers, next) && layout.whole(next) {
		return err
	}
	if !layout.whole(booted) {
		return nil // an OS that is not a snapshot has no link
	}
	return p.replaceDefault(ctx, state, booted, next)
}

// replaceDefault makes the booted snapshot the default in place of one that will be removed.
func (p *Plugin) replaceDefault(ctx context.Context, state installState, booted, bad int32) error {
	if state.Snapshotter.Type == btrfs {
		return p.BootAlways(ctx, booted, bad) // otherwise GRUB's active_snap would name the removed snapshot
	}
	return p.layout(state).setNext(ctx, booted)
}
