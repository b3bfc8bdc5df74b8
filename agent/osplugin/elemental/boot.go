// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// released are the variables that would make GRUB boot something other than the default.
var released = map[string]string{savedEntry: "", nextEntry: "", check: "", lastAttempt: ""}

// BootNewest makes GRUB boot the default, with the fallbacks that it has. The CLI reports success although it failed to remove or to list snapshots,
// and lists every directory.
func (p *Plugin) BootNewest(ctx context.Context) error {
	if err := p.mendFallbacks(ctx); err != nil {
		return err
	}
	return p.editGrub(ctx, map[string]string{savedEntry: "", nextEntry: ""})
}

// mendFallbacks removes the snapshots beyond those that the CLI keeps, and those that an earlier try has written. It lists the others besides the
// default.
func (p *Plugin) mendFallbacks(ctx context.Context) error {
	booted, err := p.booted()
	if err != nil {
		return err
	}
	state, err := p.readState()
	if err != nil {
		return err
	}
	next, err := p.layout(state).next(ctx)
	if err != nil || next == 0 {
		return err
	}
	fallbacks, err := p.fallbacksAndBooted(state, next, booted)
	if err != nil {
		return err
	}
	superfluous, err := p.superfluous(ctx)
	if err != nil {
		return err
	}
	unwanted := func(id int32) bool {
		return id != booted && (slices.Contains(superfluous, id) || state.sameImage(next, booted)(id))
	}
	if err := p.discardAll(ctx, slices.DeleteFunc(slices.Clone(fallbacks), func(id int32) bool { return !unwanted(id) })); err != nil {
		return err
	}
	if err := p.listFallbacks(ctx, slices.DeleteFunc(fallbacks, unwanted), p.layout(state).variables(next)); err != nil {
		return fmt.Errorf("listing the fallbacks of snapshot %d for GRUB: %w", next, err)
	}
	return nil
}

// fallbacksAndBooted returns the fallbacks of the next snapshot, and what runs, whether that is recorded or not.
func (p *Plugin) fallbacksAndBooted(state installState, next, booted int32) ([]int32, error) {
	fallbacks, err := p.fallbacks(state, next, 0)
	if err == nil && booted != next && !slices.Contains(fallbacks, booted) && p.layout(state).whole(booted) {
		fallbacks = append([]int32{booted}, fallbacks...)
	}
	return fallbacks, err
}

func (p *Plugin) discardAll(ctx context.Context, snapshots []int32) error {
	for _, id := range snapshots {
		p.log.Info("Removing a snapshot that is no fallback of the new one", "snapshot", id)
		if err := p.Discard(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// BootAlways makes a snapshot the default; see the package comment. The link is changed first: the host then boots the good snapshot
// whatever the list of fallbacks contains.
func (p *Plugin) BootAlways(ctx context.Context, snapshot, bad int32) error {
	state, err := p.readState()
	if err != nil {
		return err
	}
	layout := p.layout(state)
	if !layout.whole(snapshot) {
		return fmt.Errorf("booting snapshot %d: %w", snapshot, osplugin.ErrNoSuchSnapshot)
	}
	next, err := layout.next(ctx)
	if err != nil {
		return err
	}
	if next != snapshot {
		if err := p.makeDefault(ctx, state, snapshot, bad); err != nil {
			return err
		}
	}
	fallbacks, err := p.fallbacks(state, snapshot, bad)
	if err != nil {
		return err
	}
	fallbacks = slices.DeleteFunc(fallbacks, state.sameImage(bad, snapshot))
	variables := layout.variables(snapshot)
	if err := p.listFallbacks(ctx, fallbacks, variables); err != nil {
		if len(variables) > 0 {
			return fmt.Errorf("telling GRUB that snapshot %d is the default: %w", snapshot, err)
		}
		// Not fatal: the default is good, and the fallbacks are tried only after it.
		p.log.Error("Listing the fallbacks for GRUB failed", "default", snapshot, "fallbacks", fallbacks, "error", err)
	}
	return p.editGrub(ctx, released)
}

// bootBooted makes the next boot choose the running snapshot, until BootNewest or BootAlways is called: the CLI makes the new snapshot the
// default before it records it, and before the snapshot is verified. An entry of its own is needed, since the default's leads to the new
// snapshot by then. The boot assessment overrides saved_entry, but not next_entry.
func (p *Plugin) bootBooted(ctx context.Context) error {
	booted, err := p.booted()
	if err != nil {
		return err
	}
	state, err := p.readState()
	if err != nil {
		return err
	}
	return p.bootOnce(ctx, state, booted, 0)
}

// bootOnce makes the next boot choose a snapshot by its own entry.
func (p *Plugin) bootOnce(ctx context.Context, state installState, snapshot, bad int32) error {
	others, err := p.fallbacks(state, snapshot, bad)
	if err != nil {
		return err
	}
	if err := p.listFallbacks(ctx, append([]int32{snapshot}, others...), nil); err != nil {
		return err
	}
	return p.editGrub(ctx, map[string]string{nextEntry: passiveEntry + strconv.Itoa(int(snapshot))})
}

// makeDefault makes a snapshot the default. With subvolumes, the snapshot's own entry is selected until GRUB's variables are updated: some
// GRUBs take the kernel from those, while the root file system is the default subvolume.
func (p *Plugin) makeDefault(ctx context.Context, state installState, snapshot, bad int32) error {
	if state.Snapshotter.Type == btrfs {
		if err := p.bootOnce(ctx, state, snapshot, bad); err != nil {
			return err
		}
	}
	return p.layout(state).setNext(ctx, snapshot)
}

// fallbacks returns the other snapshots that are recorded and complete, newest first.
func (p *Plugin) fallbacks(state installState, snapshot, bad int32) ([]int32, error) {
	entries, err := os.ReadDir(p.snapshotsPath())
	if err != nil {
		return nil, fmt.Errorf("listing snapshots: %w", err)
	}
	var found []int32
	for _, entry := range entries {
		id, err := parseID(entry.Name())
		if err != nil || id == snapshot || id == bad {
			continue
		}
		if _, recorded := state.State.Snapshots[id]; recorded && p.layout(state).whole(id) {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	slices.Reverse(found)
	return found, nil
}

// sameImage returns whether a snapshot was made from the image of another one, which is not that of the good one.
func (s installState) sameImage(of, good int32) func(int32) bool {
	digest := s.State.Snapshots[of].Digest
	return func(id int32) bool {
		return digest != "" && s.State.Snapshots[id].Digest == digest && s.State.Snapshots[good].Digest != digest
	}
}

// listFallbacks sets the entries besides the default's, and the order in which GRUB tries all of them, the recovery system last. Each of the
// two lists is useless without the other, and variables that depend on the default are written together with them.
func (p *Plugin) listFallbacks(ctx context.Context, snapshots []int32, more map[string]string) error {
	if !p.host.Exists(grubOEMEnv) {
		return nil
	}
	var ids []string
	entries := []string{"0"}
	for i, id := range snapshots {
		ids = append(ids, strconv.Itoa(int(id)))
		entries = append(entries, strconv.Itoa(i+1))
	}
	entries = append(entries, strconv.Itoa(len(snapshots)+1))
	wanted := map[string]string{passiveSnaps: strings.Join(ids, " "), defaultFallback: strings.Join(entries, " ")}
	maps.Copy(wanted, more)
	present, err := p.readGrub(ctx, grubOEMEnv)
	if err != nil {
		return err
	}
	var set []string
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(wanted))) {
		if present[name] != wanted[name] {
			set = append(set, name+"="+wanted[name])
		}
	}
	if len(set) == 0 {
		return p.closeEFI(ctx)
	}
	return p.withEFI(ctx, func() error { return p.writeBlock(ctx, grubOEMEnv, set, nil) })
}

// withEFI calls do while the EFI partition is writable.
func (p *Plugin) withEFI(ctx context.Context, do func() error) (err error) {
	efi, found, err := p.efi()
	if err != nil {
		return err
	}
	if !found {
		return do()
	}
	if !slices.Contains(efi.Options, "rw") {
		if err := p.remountEFI(ctx, "rw"); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, p.remountEFI(context.WithoutCancel(ctx), "ro")) }()
	return do()
}

// closeEFI makes the EFI partition read-only, as after a boot. An agent or a CLI that is killed while writing leaves it writable.
func (p *Plugin) closeEFI(ctx context.Context) error {
	efi, found, err := p.efi()
	if err != nil || !found || !slices.Contains(efi.Options, "rw") {
		return err
	}
	return p.remountEFI(ctx, "ro")
}

func (p *Plugin) remountEFI(ctx context.Context, mode string) error {
	_, err := system.Check(ctx, p.host.Runner, "mount", "-o", "remount,"+mode, p.host.Path(efiDir))
	return err
}

func (p *Plugin) efi() (efi system.Mount, found bool, err error) {
	mounts, err := p.host.Mounts()
	if err == nil {
		efi, found = system.MountedAt(mounts, efiDir)
	}
	return efi, found, err
}
