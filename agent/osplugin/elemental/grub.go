// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// Variables of GRUB's environment blocks.
// Source: elemental-toolkit, features grub-config and boot-assessment.
const (
	savedEntry  = "saved_entry"
	nextEntry   = "next_entry"
	check       = "boot_assessment_check"
	lastAttempt = "last_boot_attempt"

	// These are in the block on the EFI partition.
	passiveSnaps    = "passive_snaps"
	defaultFallback = "default_fallback"

	recoveryEntry = "recovery"
	passiveEntry  = "passive"
)

// editGrub sets variables of a block, or unsets those with an empty value, in one write, and only if something changes. What the variables select is
// flushed before: the block can reach the disk first, and GRUB would boot what was the default until then, without the assessment that leaves it.
func (p *Plugin) editGrub(ctx context.Context, wanted map[string]string) error {
	present, err := p.readGrub(ctx, grubEnv)
	if err != nil {
		return err
	}
	var set, unset []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		value := wanted[name]
		switch {
		case present[name] == value:
		case value == "":
			unset = append(unset, name)
		default:
			set = append(set, name+"="+value)
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	if len(set)+len(unset) == 0 {
		return nil
	}
	if err := p.writeBlock(ctx, grubEnv, set, unset); err != nil {
		return err
	}
	return p.flush()
}

// writeBlock changes a copy of a block and then overwrites the block by a single write: grub2-editenv empties the file first, so that being
// killed, or losing power, would leave a host without its variables.
func (p *Plugin) writeBlock(ctx context.Context, file string, set, unset []string) error {
	if len(set)+len(unset) == 0 {
		return nil
	}
	backup, err := p.backUp(file)
	if err != nil {
		return err
	}
	for _, each := range []struct {
		verb string
		args []string
	}{{"set", set}, {"unset", unset}} {
		if len(each.args) == 0 {
			continue
		}
		if _, err := system.Check(ctx, p.host.Runner, "grub2-editenv", append([]string{backup, each.verb}, each.args...)...); err != nil {
			return err
		}
	}
	return overwrite(p.host.Path(file), backup)
}

// backUp copies a block, to memory if the disk is full: reverting to the former OS must not need disk space.
func (p *Plugin) backUp(file string) (path string, err error) {
	content, err := os.ReadFile(p.host.Path(file))
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return "", err
	}
	for _, path = range p.backupsOf(file) {
		if missing {
			err = system.RemoveFile(path)
		} else {
			err = system.WriteFile(path, content, blockMode)
		}
		if err == nil {
			return path, p.forgetBackups(file, path)
		}
	}
	return "", err
}

// forgetBackups removes the older copies of a block.
func (p *Plugin) forgetBackups(file, newest string) error {
	for _, path := range p.backupsOf(file) {
		if path == newest {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
	}
	return nil
}

// overwrite overwrites a file in place with the content of another: GRUB reads and writes a block at its location on the disk.
func overwrite(path, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, blockMode)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(content, 0)
	if err := errors.Join(err, file.Truncate(int64(len(content))), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// backupsOf returns the possible paths of the copy of a block as the agent wrote it last, the persistent one first.
func (p *Plugin) backupsOf(file string) []string {
	return []string{filepath.Join(p.workDir, filepath.Base(file)), p.host.Path(filepath.Join(runDir, filepath.Base(file)))}
}

const blockMode = 0o644

func (p *Plugin) readGrub(ctx context.Context, file string) (map[string]string, error) {
	if !p.host.Exists(file) {
		return map[string]string{}, nil
	}
	output, err := system.Check(ctx, p.host.Runner, "grub2-editenv", p.host.Path(file), "list")
	switch {
	case err == nil:
		return variablesOf(output), nil
	case ctx.Err() != nil:
		return nil, err
	}
	// grub2-editenv writes in place: if it is killed, it leaves a block that neither it nor GRUB can read.
	var variables map[string]string
	renew := func() (renewed error) {
		variables, renewed = p.renewGrub(ctx, file, err)
		return renewed
	}
	if file == grubOEMEnv {
		return variables, p.withEFI(ctx, renew)
	}
	return variables, renew()
}

func variablesOf(listed string) map[string]string {
	variables := map[string]string{}
	for line := range strings.Lines(listed) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			variables[name] = value
		}
	}
	return variables
}

// renewGrub replaces an unreadable environment block by the last one that the agent wrote, without the variables that apply to one boot:
// GRUB treats all variables of such a block as unset. The new block is created beside the old one, so that being killed leaves the old one,
// never an empty file.
func (p *Plugin) renewGrub(ctx context.Context, file string, reason error) (map[string]string, error) {
	p.log.Warn("Rewriting GRUB's environment block, which cannot be read", "file", file, "error", reason)
	variables, err := p.keptVariables(ctx, file)
	if err != nil {
		return nil, err
	}
	for _, backup := range p.backupsOf(file) {
		if err = p.makeBlock(ctx, backup+".new", variables); err == nil {
			return variables, overwrite(p.host.Path(file), backup+".new")
		}
	}
	return nil, errors.Join(reason, err)
}

func (p *Plugin) makeBlock(ctx context.Context, path string, variables map[string]string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if _, err := system.Check(ctx, p.host.Runner, "grub2-editenv", path, "create"); err != nil {
		return err
	}
	var set []string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		set = append(set, name+"="+variables[name])
	}
	if len(set) == 0 {
		return nil
	}
	_, err := system.Check(ctx, p.host.Runner, "grub2-editenv", append([]string{path, "set"}, set...)...)
	return err
}

// keptVariables returns the variables of the last block that the agent wrote, and those that the CLI sets at installation.
func (p *Plugin) keptVariables(ctx context.Context, file string) (map[string]string, error) {
	variables := map[string]string{}
	if file == grubOEMEnv {
		state, err := p.readState()
		if err != nil {
			return nil, err
		}
		variables = state.labels()
	}
	for _, backup := range p.backupsOf(file) {
		if kept, err := system.Check(ctx, p.host.Runner, "grub2-editenv", backup, "list"); err == nil { // otherwise it is missing or damaged
			maps.Copy(variables, variablesOf(kept))
			break
		}
	}
	for _, name := range []string{nextEntry, lastAttempt} {
		delete(variables, name)
	}
	return variables, nil
}

// labels returns the labels by which GRUB finds the partitions.
// Source: elemental-toolkit v2.3.2, pkg/types, GetGrubLabels.
func (s installState) labels() map[string]string {
	return map[string]string{
		"state_label":      cmp.Or(s.State.Label, stateLabel),
		"recovery_label":   cmp.Or(s.Recovery.Label, recoveryLabel),
		"oem_label":        cmp.Or(s.OEM.Label, oemLabel),
		"persistent_label": cmp.Or(s.Persistent.Label, persistentLabel),
	}
}
