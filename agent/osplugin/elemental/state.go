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
		FS string `yaml:"fs"`
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

// readState reads state.yaml. Without the file, or if it is unreadable and there is no copy of it, the host has no recorded snapshots: the
// CLI writes the file in place, so that a loss of power may truncate it.
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

// keptState is a copy of the installation state from before the last upgrade.
func (p *Plugin) keptState() string { return filepath.Join(p.workDir, stateFile) }

// wholeState returns a readable state: the given one, or the copy; nothing if neither can be read.
func (p *Plugin) wholeState(content []byte) ([]byte, error) {
	if isState(content) {
		return content, nil
	}
	kept, err := os.ReadFile(p.keptState())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the copy of the installation state: %w", err)
	}
	p.log.Warn("The installation state cannot be read", "file", p.stateFile(), "kept", isState(kept))
	if isState(kept) {
		return kept, nil
	}
	if yaml.Unmarshal(content, &installState{}) != nil {
		return nil, nil
	}
	return content, nil // it can be decoded, but has no snapshots
}

// isState reports whether a state is complete, as far as that can be determined: it ends with the snapshots, and every installed host has
// one.
func isState(content []byte) bool {
	state := installState{}
	return yaml.Unmarshal(content, &state) == nil && len(state.State.Snapshots) > 0
}

// keepState copies the installation state before an upgrade changes it, or restores the copy if it cannot be read: the CLI fails otherwise.
func (p *Plugin) keepState() error {
	content, err := os.ReadFile(p.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the installation state: %w", err)
	}
	if isState(content) {
		return system.WriteFile(p.keptState(), content, stateFileMode)
	}
	kept, err := p.wholeState(content)
	if err != nil || kept == nil {
		return err
	}
	return system.WriteFile(p.stateFile(), kept, stateFileMode)
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
