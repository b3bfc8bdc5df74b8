// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

var (
	// The kernel appends " (deleted)" to the name of a deleted file.
	loopSnapshot  = regexp.MustCompile(`/\.snapshots/(\d+)/snapshot\.img( \(deleted\))?$`)
	btrfsSnapshot = regexp.MustCompile(`/\.snapshots/(\d+)/snapshot$`)
)

// Facts of the running boot. The digest is that of the booted snapshot: "active" in state.yaml is the next boot's default, and still names a
// bad snapshot after a fallback.
func (p *Plugin) Facts(context.Context) (facts osplugin.Facts, err error) {
	facts.Mode = p.mode()
	if facts.BootID, err = p.bootID(); err != nil {
		return facts, err
	}
	if facts.Version, err = p.version(); err != nil {
		return facts, err
	}
	if facts.Mode != osplugin.ModeActive && facts.Mode != osplugin.ModePassive {
		return facts, nil
	}
	if facts.Snapshot, err = p.booted(); err != nil {
		return facts, err
	}
	state, err := p.readState()
	if err != nil {
		return facts, err
	}
	booted, recorded := state.State.Snapshots[facts.Snapshot]
	written, err := p.identity()
	if err != nil {
		// Its blocks never reached the disk; those of other files may be missing as well.
		p.log.Warn("The identity of the booted snapshot cannot be read", "snapshot", facts.Snapshot, "error", err)
	}
	if facts.Unfinished = !recorded || err != nil || written.contradicts(booted); facts.Unfinished {
		return facts, nil
	}
	facts.Digest, facts.Source, facts.Attempt = booted.Digest, booted.Source, booted.Labels[correlationLabel]
	facts.RecoveryDigest = state.recoveryDigest()
	return facts, nil
}

// recoveryDigest returns the digest of the recovery system; empty if it is unknown. An upgrade keeps the digest with which it was recorded first, and
// changes its labels to those of the snapshot that it was made from.
// Source: elemental-toolkit v2.3.2, pkg/action, upgradeInstallStateYaml.
func (s installState) recoveryDigest() string {
	recorded := s.Recovery.Recovery
	if slices.Contains([]string{actionInstall, actionReset, actionBuildDisk}, recorded.FromAction) {
		return recorded.Digest
	}
	attempt := recorded.Labels[correlationLabel]
	for _, each := range s.State.Snapshots {
		if attempt != "" && each.Labels[correlationLabel] == attempt {
			return each.Digest
		}
	}
	return ""
}

func (p *Plugin) bootID() (string, error) {
	id, err := p.host.ReadTrimmed(bootIDFile)
	if err == nil && id == "" {
		err = errors.New("the kernel's boot id is missing: " + bootIDFile)
	}
	return id, err
}

func (p *Plugin) mode() string {
	for _, mode := range []string{osplugin.ModeLive, osplugin.ModeRecovery, osplugin.ModePassive, osplugin.ModeActive} {
		if p.host.Exists(fmt.Sprintf(modePattern, mode)) {
			return mode
		}
	}
	return ""
}

func (p *Plugin) version() (string, error) {
	release, err := p.host.ReadTrimmed(osReleaseFile)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(release) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); found {
			return strings.Trim(value, `"'`), nil
		}
	}
	return "", nil
}

// booted returns the snapshot that is the root file system: the file of its loop device, or its subvolume. A CLI that runs or was killed may
// have attached other snapshots to loop devices.
func (p *Plugin) booted() (int32, error) {
	mounts, err := p.host.Mounts()
	if err != nil {
		return 0, err
	}
	root, found := system.MountedAt(mounts, "/")
	if !found {
		return 0, fmt.Errorf("finding the booted snapshot: %s has no root file system", system.MountsFile)
	}
	if match := btrfsSnapshot.FindStringSubmatch(root.Root); match != nil {
		return parseID(match[1])
	}
	file, err := p.host.ReadTrimmed(fmt.Sprintf(backingFilePattern, root.Device))
	if err != nil {
		return 0, err
	}
	match := loopSnapshot.FindStringSubmatch(file)
	if match == nil {
		return 0, fmt.Errorf("finding the booted snapshot: the root file system is on device %s with the file %q and the subvolume %q, "+
			"neither of which is a snapshot of the elemental toolkit", root.Device, file, root.Root)
	}
	return parseID(match[1])
}

func parseID(text string) (int32, error) {
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("snapshot id %q: %w", text, err)
	}
	return int32(id), nil
}
