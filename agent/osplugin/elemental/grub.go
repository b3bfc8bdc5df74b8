// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// Variables of GRUB's environment blocks.
// Source: elemental-toolkit, features grub-config and boot-assessment.
const (
	savedEntry   = "saved_entry"
	nextEntry    = "next_entry"
	check        = "boot_assessment_check"
	alwaysCheck  = "boot_assessment_always_check"
	lastAttempt  = "last_boot_attempt"
	passiveSnaps = "passive_snaps"

	recoveryEntry = "recovery"
	passiveEntry  = "passive"
)

// BootNewest lets GRUB choose the snapshot that was written last.
func (p *Plugin) BootNewest(ctx context.Context) error {
	return p.editGrub(ctx, map[string]string{savedEntry: "", nextEntry: ""})
}

// BootAlways makes a snapshot the choice of all further boots; see the package comment.
func (p *Plugin) BootAlways(ctx context.Context, snapshot int32) error {
	state, err := p.readState()
	if err != nil {
		return err
	}
	if !p.whole(snapshot, state.Snapshotter.Type) {
		return fmt.Errorf("booting snapshot %d: %w", snapshot, osplugin.ErrNoSuchSnapshot)
	}
	if p.isDefault(snapshot, state.State.Snapshots[snapshot]) {
		return p.BootNewest(ctx)
	}
	listed, err := p.isListed(ctx, snapshot)
	if err != nil {
		return err
	}
	if !listed && state.Snapshotter.Type != btrfs {
		// GRUB has no entry for it: its upgrade was killed before it wrote the list. The link is the way.
		if err := p.link(snapshot); err != nil {
			return err
		}
		return p.BootNewest(ctx)
	}
	return p.bootPassive(ctx, snapshot)
}

func (p *Plugin) bootPassive(ctx context.Context, snapshot int32) error {
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

// isListed says whether GRUB has an entry for a passive snapshot. A host without the list is taken to
// have one.
func (p *Plugin) isListed(ctx context.Context, snapshot int32) (bool, error) {
	if !p.host.Exists(grubOEMEnv) {
		return true, nil
	}
	variables, err := p.readGrub(ctx, grubOEMEnv)
	if err != nil {
		return false, err
	}
	return slices.Contains(strings.Fields(variables[passiveSnaps]), strconv.Itoa(int(snapshot))), nil
}

// editGrub sets variables, or unsets those with an empty value, and writes only what differs.
func (p *Plugin) editGrub(ctx context.Context, wanted map[string]string) error {
	present, err := p.readGrub(ctx, grubEnv)
	if err != nil {
		return err
	}
	set, unset := []string{p.host.Path(grubEnv), "set"}, []string{p.host.Path(grubEnv), "unset"}
	for _, name := range []string{savedEntry, nextEntry, check, lastAttempt} {
		value, mentioned := wanted[name]
		switch {
		case !mentioned || present[name] == value:
		case value == "":
			unset = append(unset, name)
		default:
			set = append(set, name+"="+value)
		}
	}
	for _, args := range [][]string{set, unset} {
		if len(args) == 2 {
			continue
		}
		if _, err := system.Check(ctx, p.host.Runner, "grub2-editenv", args...); err != nil {
			return err
		}
	}
	return p.flush()
}

func (p *Plugin) readGrub(ctx context.Context, file string) (map[string]string, error) {
	variables := map[string]string{}
	if !p.host.Exists(file) {
		return variables, nil
	}
	output, err := system.Check(ctx, p.host.Runner, "grub2-editenv", p.host.Path(file), "list")
	if err != nil && file == grubEnv && ctx.Err() == nil {
		// grub2-editenv writes in place: who is killed meanwhile leaves a block that neither it nor GRUB can read.
		return variables, p.renewGrub(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(output) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			variables[name] = value
		}
	}
	return variables, nil
}

// renewGrub replaces an environment block that cannot be read. GRUB took all its variables for unset.
func (p *Plugin) renewGrub(ctx context.Context, reason error) error {
	if _, err := system.Check(ctx, p.host.Runner, "grub2-editenv", p.host.Path(grubEnv), "create"); err != nil {
		return errors.Join(reason, err)
	}
	return nil
}
