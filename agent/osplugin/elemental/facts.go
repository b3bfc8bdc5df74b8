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
	loopSnapshot  = regexp.MustCompile(`/\.snapshots/(\d+)/snapshot\.img$`)
	namedSnapshot = regexp.MustCompile(`elemental\.image=\S*\.snapshots/(\d+)/`)
	btrfsSnapshot = regexp.MustCompile(`subvol=\S*\.snapshots/(\d+)/snapshot`)
)

// Facts of the running boot. The digest is that of the booted snapshot: state.yaml's "active" is the
// next boot's default and stays on a bad snapshot after a fallback.
func (p *Plugin) Facts(ctx context.Context) (osplugin.Facts, error) {
	bootID, err := p.host.ReadTrimmed(bootIDFile)
	if err != nil {
		return osplugin.Facts{}, err
	}
	if bootID == "" {
		return osplugin.Facts{}, errors.New("the kernel's boot id is missing: " + bootIDFile)
	}
	version, err := p.version()
	if err != nil {
		return osplugin.Facts{}, err
	}
	facts := osplugin.Facts{Mode: p.mode(), BootID: bootID, Version: version}
	if facts.Mode != osplugin.ModeActive && facts.Mode != osplugin.ModePassive {
		return facts, nil
	}
	if facts.Snapshot, err = p.booted(ctx); err != nil {
		return osplugin.Facts{}, err
	}
	state, err := p.readState()
	if err != nil {
		return osplugin.Facts{}, err
	}
	booted := state.State.Snapshots[facts.Snapshot]
	facts.Digest, facts.Source = booted.Digest, booted.Source
	return facts, nil
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

// booted is the snapshot behind the root file system: the loop device says so, else the kernel's
// command line (passive boots), else the mounted subvolume (btrfs).
func (p *Plugin) booted(ctx context.Context) (int32, error) {
	output, err := system.Check(ctx, p.host.Runner, "losetup", "-ln", "-O", "BACK-FILE")
	if err != nil {
		return 0, fmt.Errorf("finding the booted snapshot: %w", err)
	}
	var found []string
	for line := range strings.Lines(output) {
		if match := loopSnapshot.FindStringSubmatch(strings.TrimSpace(line)); match != nil {
			found = append(found, match[1])
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) == 1 {
		return parseID(found[0])
	}
	for _, source := range []struct {
		file    string
		pattern *regexp.Regexp
	}{{cmdlineFile, namedSnapshot}, {mountsFile, btrfsSnapshot}} {
		text, err := p.host.ReadTrimmed(source.file)
		if err != nil {
			return 0, err
		}
		if match := source.pattern.FindStringSubmatch(text); match != nil {
			return parseID(match[1])
		}
	}
	return 0, fmt.Errorf("finding the booted snapshot: %d snapshots are attached to loop devices (%s), and neither %s nor %s names one",
		len(found), strings.Join(found, ", "), cmdlineFile, mountsFile)
}

func parseID(text string) (int32, error) {
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("snapshot id %q: %w", text, err)
	}
	return int32(id), nil
}
