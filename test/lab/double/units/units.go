// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package units

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// States of a unit.
const (
	Active     = "active"
	Activating = "activating"
	Inactive   = "inactive"
	Failed     = "failed"
)

// Names of units.
const (
	BootAssessment = "elemental-boot-assessment.service"
	Kubelet        = "kubelet.service"
	Agent          = "elemental-agent.service"
)

// OfStage is the unit that runs a stage of the toolkit; empty for a stage of the initramfs.
func OfStage(stage string) string {
	if stage != "fs" && stage != "boot" && stage != "network" {
		return ""
	}
	return "elemental-setup-" + stage + ".service"
}

const file = "run/lab/units.json"

// Units are the states of all units, by name.
type Units map[string]string

// Names of the units, sorted.
func (u Units) Names() []string { return slices.Sorted(maps.Keys(u)) }

// Read returns the units of the host with this root; none while it is down.
func Read(root string) (Units, error) {
	data, err := os.ReadFile(filepath.Join(root, file))
	if errors.Is(err, fs.ErrNotExist) {
		return Units{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading units: %w", err)
	}
	u := Units{}
	if err := json.Unmarshal(data, &u); err != nil {
		return nil, fmt.Errorf("parsing units: %w", err)
	}
	return u, nil
}

// Set sets the state of a unit. Only the supervisor of the host calls it, and it writes atomically for
// readers.
func Set(root, name, state string) error {
	u, err := Read(root)
	if err != nil {
		return err
	}
	u[name] = state
	data, err := json.Marshal(u)
	if err != nil {
		return err
	}
	path := filepath.Join(root, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing units: %w", err)
	}
	if err := os.WriteFile(path+".new", data, 0o644); err != nil {
		return fmt.Errorf("writing units: %w", err)
	}
	return os.Rename(path+".new", path)
}
