// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// loop is a loop device.
type loop struct {
	name, device string
	// on is the device of the file system that contains the file.
	on string
}

// detachLoops detaches the loop devices of a killed CLI from files of the state and the recovery partition. The CLI attaches them without
// autoclear, so that they remain: they occupy the space of deleted files, and the CLI takes every attached snapshot for booted. The root
// file system's own is not detached.
func (p *Plugin) detachLoops(ctx context.Context) error {
	mounts, err := p.host.Mounts()
	if err != nil {
		return err
	}
	root, _ := system.MountedAt(mounts, "/")
	own, err := p.ownPartitions(mounts)
	if err != nil {
		return err
	}
	loops, err := p.loops(ctx)
	if err != nil {
		return err
	}
	for _, each := range loops {
		if each.device == root.Device || !slices.Contains(own, each.on) {
			continue
		}
		p.log.Info("Detaching a loop device of a killed elemental command", "device", each.name)
		if _, err := system.Check(ctx, p.host.Runner, "losetup", "-d", each.name); err != nil {
			return fmt.Errorf("detaching %s: %w", each.name, err)
		}
	}
	return nil
}

// ownPartitions returns the devices of the state and the recovery partition, of which usually only one is mounted.
func (p *Plugin) ownPartitions(mounts []system.Mount) ([]string, error) {
	state, err := p.readState()
	if err != nil {
		return nil, err
	}
	devices := []string{p.partition(state.Recovery.Label, recoveryLabel), p.partition(state.State.Label, stateLabel)}
	for _, target := range []string{stateDir, legacyStateDir, recoveryDir} {
		at, _ := system.MountedAt(mounts, target)
		devices = append(devices, at.Device)
	}
	return slices.DeleteFunc(devices, func(device string) bool { return device == "" }), nil
}

// partition returns the device of the partition with a label; empty if there is none.
func (p *Plugin) partition(label, otherwise string) string {
	if label == "" {
		label = otherwise
	}
	return deviceNumber(p.host.Path(byLabel + label))
}

// loops lists the attached loop devices. The columns are padded with white space.
func (p *Plugin) loops(ctx context.Context) ([]loop, error) {
	output, err := system.Check(ctx, p.host.Runner, "losetup", "-ln", "-O", "NAME,MAJ:MIN,BACK-MAJ:MIN")
	if err != nil {
		return nil, fmt.Errorf("listing loop devices: %w", err)
	}
	var loops []loop
	for line := range strings.Lines(output) {
		if fields := strings.Fields(line); len(fields) == 3 {
			loops = append(loops, loop{name: fields[0], device: fields[1], on: fields[2]})
		}
	}
	return loops, nil
}
