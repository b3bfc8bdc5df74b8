// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// released are the variables by which GRUB would boot something else than the default.
var released = map[string]string{savedEntry: "", nextEntry: "", check: "", lastAttempt: ""}

// BootNewest lets GRUB choose the default.
func (p *Plugin) BootNewest(ctx context.Context) error {
	return p.editGrub(ctx, map[string]string{savedEntry: "", nextEntry: ""})
}

// BootAlways makes a snapshot the default; see the package comment. The link comes first: whatever the list of fallbacks says then,
// the host boots what is good.
func (p *Plugin) BootAlways(ctx context.Context, snapshot, bad int32) error {
	state, err := p.readState()
	if err != nil {
		return err
	}
	if !p.whole(snapshot, state.Snapshotter.Type) {
		return fmt.Errorf("booting snapshot %d: %w", snapshot, osplugin.ErrNoSuchSnapshot)
	}
	if state.Snapshotter.Type == btrfs {
		return p.bootEntry(ctx, snapshot, state)
	}
	if p.nextActive() != snapshot {
		if err := p.link(snapshot); err != nil {
			return err
		}
	}
	fallbacks, err := p.fallbacks(state, snapshot, bad)
	if err != nil {
		return err
	}
	if err := p.listFallbacks(ctx, fallbacks); err != nil {
		// The default is good, whatever would be tried after it.
		p.log.Error("Listing the fallbacks for GRUB failed", "default", snapshot, "fallbacks", fallbacks, "error", err)
	}
	return p.editGrub(ctx, released)
}

// bootBooted has the next boot, until BootNewest or BootAlways says otherwise, choose what runs now: the CLI makes the new snapshot the
// default before it records it, and long before anybody has looked whether it is whole. It needs an entry of its own, since the
// default's leads to the new one by then. The assessment, which overrules saved_entry, leaves next_entry alone.
func (p *Plugin) bootBooted(ctx context.Context) error {
	booted, err := p.booted()
	if err != nil || booted == 0 {
		return err
	}
	state, err := p.readState()
	if err != nil || state.Snapshotter.Type == btrfs {
		return err
	}
	others, err := p.fallbacks(state, booted, 0)
	if err != nil {
		return err
	}
	if err := p.listFallbacks(ctx, append([]int32{booted}, others...)); err != nil {
		return err
	}
	return p.editGrub(ctx, map[string]string{nextEntry: passiveEntry + strconv.Itoa(int(booted))})
}

// KeepBooting renews the entry of btrfs's snapshots where the assessment overrules GRUB's choice. A link needs no renewal, and to set it
// again would undo what somebody has upgraded to since.
func (p *Plugin) KeepBooting(ctx context.Context, snapshot int32) error {
	state, err := p.readState()
	if err != nil || state.Snapshotter.Type != btrfs {
		return err
	}
	return p.bootEntry(ctx, snapshot, state)
}

// bootEntry has GRUB choose the entry of a snapshot that is not the default.
func (p *Plugin) bootEntry(ctx context.Context, snapshot int32, state installState) error {
	if p.isDefault(snapshot, state.State.Snapshots[snapshot]) {
		return p.BootNewest(ctx)
	}
	entry := passiveEntry + strconv.Itoa(int(snapshot))
	wanted := map[string]string{savedEntry: entry, check: "", lastAttempt: "", nextEntry: ""}
	present, err := p.readGrub(ctx, grubEnv)
	if err != nil {
		return err
	}
	if present[alwaysCheck] == "yes" {
		wanted[nextEntry] = entry
	}
	return p.editGrub(ctx, wanted)
}

// fallbacks of a default are the other snapshots that are recorded and whole, newest first.
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
		if _, recorded := state.State.Snapshots[id]; recorded && p.whole(id, state.Snapshotter.Type) {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	slices.Reverse(found)
	return found, nil
}

// listFallbacks tells GRUB which entries there are besides the default's, and that it is to try all of them in their order, the recovery
// system last. Each list means nothing without the other.
func (p *Plugin) listFallbacks(ctx context.Context, snapshots []int32) error {
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
	passive, fallback := strings.Join(ids, " "), strings.Join(entries, " ")
	present, err := p.readGrub(ctx, grubOEMEnv)
	if err != nil {
		return err
	}
	if present[passiveSnaps] == passive && present[defaultFallback] == fallback {
		return p.closeEFI(ctx)
	}
	return p.withEFI(ctx, func() error {
		return p.writeBlock(ctx, grubOEMEnv, []string{passiveSnaps + "=" + passive, defaultFallback + "=" + fallback}, nil)
	})
}

// withEFI does something while the EFI partition can be written.
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

// closeEFI makes the EFI partition read-only, as boots leave it. An agent or a CLI that is killed while it writes there does not.
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
