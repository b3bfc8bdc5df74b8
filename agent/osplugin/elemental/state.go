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
)

// installState is what is read of the toolkit's state.yaml.
type installState struct {
	Snapshotter struct {
		Type     string `yaml:"type"`
		MaxSnaps int    `yaml:"max-snaps"`
	} `yaml:"snapshotter"`
	Recovery struct {
		Label string `yaml:"label"`
	} `yaml:"recovery"`
	Persistent struct {
		Label string `yaml:"label"`
	} `yaml:"persistent"`
	State struct {
		Label     string                  `yaml:"label"`
		Snapshots map[int32]snapshotState `yaml:"snapshots"`
	} `yaml:"state"`
}

type snapshotState struct {
	Source string            `yaml:"source"`
	Digest string            `yaml:"digest"`
	Active bool              `yaml:"active"`
	Labels map[string]string `yaml:"labels"`
}

const btrfs = "btrfs"

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

// readState reads state.yaml. A host without one has no recorded snapshots.
func (p *Plugin) readState() (installState, error) {
	state := installState{}
	content, err := os.ReadFile(filepath.Join(p.statePath(), stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return state, nil
	}
	if err != nil {
		return state, fmt.Errorf("reading the installation state: %w", err)
	}
	if err := yaml.Unmarshal(content, &state); err != nil {
		return state, fmt.Errorf("decoding the installation state: %w", err)
	}
	return state, nil
}

// whole says whether a snapshot has something to boot. A full state partition leaves an empty image
// and exit code 0.
func (p *Plugin) whole(id int32, kind string) bool {
	if kind == btrfs {
		info, err := os.Stat(filepath.Join(p.snapshotPath(id), snapshotTree))
		return err == nil && info.IsDir()
	}
	info, err := os.Stat(filepath.Join(p.snapshotPath(id), snapshotImage))
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// nextActive is the snapshot that GRUB's entry "active" boots: the target of a symlink, which the
// toolkit sets before it records anything. 0 when there is no such link, as with btrfs.
func (p *Plugin) nextActive() int32 {
	target, err := os.Readlink(filepath.Join(p.snapshotsPath(), activeLink))
	if err != nil {
		return 0
	}
	id, err := parseID(filepath.Base(filepath.Dir(target)))
	if err != nil {
		return 0
	}
	return id
}

// isDefault says whether a boot of the newest snapshot would boot this one.
func (p *Plugin) isDefault(id int32, recorded snapshotState) bool {
	if link := p.nextActive(); link != 0 {
		return link == id
	}
	return recorded.Active
}
