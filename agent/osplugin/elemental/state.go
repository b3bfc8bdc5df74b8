// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// installState is the part of the toolkit's state.yaml that the agent reads.
type installState struct {
	Snapshotter struct {
		Type     string `yaml:"type"`
		MaxSnaps int    `yaml:"max-snaps"`
	} `yaml:"snapshotter"`
	Recovery   partitionState `yaml:"recovery"`
	OEM        partitionState `yaml:"oem"`
	Persistent partitionState `yaml:"persistent"`
	State      struct {
		Label     string                  `yaml:"label"`
		Snapshots map[int32]snapshotState `yaml:"snapshots"`
	} `yaml:"state"`
}

type partitionState struct {
	Label string `yaml:"label"`
	// Recovery is the recovery system on the recovery partition.
	Recovery struct {
		FS         string            `yaml:"fs"`
		Digest     string            `yaml:"digest"`
		Labels     map[string]string `yaml:"labels"`
		FromAction string            `yaml:"fromAction"`
	} `yaml:"recovery"`
}

type snapshotState struct {
	Source string            `yaml:"source"`
	Digest string            `yaml:"digest"`
	Active bool              `yaml:"active"`
	Labels map[string]string `yaml:"labels"`
}

// statePath is where the state partition is mounted.
func (p *Plugin) statePath() string {
	if !p.host.Exists(stateDir) && p.host.Exists(legacyStateDir) {
		return p.host.Path(legacyStateDir)
	}
	return p.host.Path(stateDir)
}

func (p *Plugin) snapshotsPath() string { return filepath.Join(p.statePath(), snapshotsDir) }

func (p *Plugin) snapshotPath(id int32) string {
	return filepath.Join(p.snapshotsPath(), strconv.Itoa(int(id)))
}

// readState reads state.yaml. Without the file, or if nothing of it and of its copy is whole, the host has no recorded snapshots.
func (p *Plugin) readState() (installState, error) {
	state := installState{}
	content, err := os.ReadFile(p.stateFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return state, fmt.Errorf("reading the installation state: %w", err)
	}
	if err == nil {
		if content, err = p.wholeState(content); err != nil {
			return state, err
		}
	}
	if err := yaml.Unmarshal(content, &state); err != nil {
		return installState{}, fmt.Errorf("decoding the installation state: %w", err)
	}
	if state.Snapshotter.Type == "" {
		state.Snapshotter.Type = p.bootedKind()
	}
	return state, nil
}

func (p *Plugin) stateFile() string { return filepath.Join(p.statePath(), stateFile) }

// keptState is a copy of the installation state from the last boot, or from before an upgrade in this one.
func (p *Plugin) keptState() string { return filepath.Join(p.workDir, stateFile) }

// wholeState returns a whole state: the given one, or the agent's copy with what runs, or what is whole of the given one; nothing if none is.
func (p *Plugin) wholeState(content []byte) ([]byte, error) {
	kind := p.bootedKind()
	why := incomplete(content, kind)
	if why == "" {
		return content, nil
	}
	kept, err := os.ReadFile(p.keptState())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the copy of the installation state: %w", err)
	}
	isKept := incomplete(kept, kind) == ""
	p.log.Debug("The installation state is not whole", "file", p.stateFile(), "reason", why, "kept", isKept)
	if isKept {
		content = kept
	}
	return p.withSnapshots(content, p.runs())
}

// runs returns the identity of the running snapshot by its id; nothing if it has none.
func (p *Plugin) runs() map[int32]identity {
	booted, err := p.booted()
	if err != nil {
		return nil
	}
	written, err := p.identity()
	if err != nil || !written.known() {
		return nil
	}
	return map[int32]identity{booted: written}
}

// bootedKind returns the snapshotter of the running system; empty if it is not btrfs.
func (p *Plugin) bootedKind() string {
	mounts, err := p.host.Mounts()
	if err != nil {
		return ""
	}
	if root, found := system.MountedAt(mounts, "/"); found && btrfsSnapshot.MatchString(root.Root) {
		return btrfs
	}
	return ""
}
