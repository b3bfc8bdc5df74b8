// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
)

// ErrSnapshotter means that the host keeps its snapshots otherwise than as images on loop devices, which is not simulated.
var ErrSnapshotter = errors.New("snapshotter is not simulated")

// ErrRecoveryFromRecovery means that the running recovery system should be replaced.
var ErrRecoveryFromRecovery = errors.New("can not upgrade recovery from recovery partition")

// Upgrade writes the system into a new snapshot and makes it the default of the next boot.
func (a *Action) Upgrade(ctx context.Context) (err error) {
	defer func() { err = a.clean(err) }()
	if err := a.beginUpgrade(ctx); err != nil {
		return err
	}
	digest, err := a.newSnapshot(ctx)
	if err != nil {
		return err
	}
	recovery, err := a.upgradeRecovery(ctx, digest)
	if err != nil {
		return err
	}
	if err := a.hook(ctx, "post-upgrade"); err != nil {
		return err
	}
	if err := a.recordUpgrade(digest, recovery); err != nil {
		a.Log.Error("failed upgrading installation metadata")
		return err
	}
	a.Log.Info("Upgrade completed")
	return nil
}

// beginUpgrade is what comes before anything is written.
func (a *Action) beginUpgrade(ctx context.Context) error {
	a.begin()
	if a.recorded != nil && a.recorded.Snapshotter.Type != state.LoopDevice().Type {
		return fmt.Errorf("%s: %w", a.recorded.Snapshotter.Type, ErrSnapshotter)
	}
	if a.Recovery && a.Host.InRecovery() {
		a.Log.Error("Upgrading recovery image from the recovery system itself is not supported")
		return ErrRecoveryFromRecovery
	}
	if err := a.mountWritable(); err != nil {
		return err
	}
	if err := a.initiate(); err != nil {
		return err
	}
	return a.hook(ctx, "before-upgrade")
}

// newSnapshot writes the system into a snapshot, which is the default then.
func (a *Action) newSnapshot(ctx context.Context) (digest string, err error) {
	if err := a.start(); err != nil {
		return "", err
	}
	if digest, err = a.deploy(ctx); err != nil {
		return "", err
	}
	a.Log.Info("Fine tune the dumped root tree")
	if err := a.refineHooks(ctx, state.ActionUpgrade); err != nil {
		return "", err
	}
	if err := a.labelEntries(); err != nil {
		return "", err
	}
	a.Log.Warn("No default entry name for grub, not setting a name")
	return digest, a.close()
}

// mountWritable mounts or remounts writable what an upgrade writes. What is writable already, because a killed upgrade left
// it so, stays writable afterwards.
func (a *Action) mountWritable() error {
	written := []string{disk.LabelEFI, disk.LabelRecovery, disk.LabelPersistent}
	if a.Host.InRecovery() {
		written[1] = disk.LabelState
	}
	for _, label := range written {
		if err := a.mountPartition(label); err != nil {
			a.Log.Errorf("Failed mounting %s partition: %v", label, err)
			return fmt.Errorf("mounting %s partition: %w", label, err)
		}
	}
	return nil
}

// mountPartition mounts a partition writable until the action ends.
func (a *Action) mountPartition(label string) error {
	partition, exists := a.Host.Partition(label)
	if !exists || partition.Target == "" {
		return nil
	}
	mounted, isMounted, err := a.Host.MountedAt(partition.Target)
	switch {
	case err != nil || isMounted && mounted.Mode() == "rw":
		return err
	case isMounted:
		a.always(func() error { return a.Host.Remount(partition.Target, "ro") })
		return a.Host.Remount(partition.Target, "rw")
	}
	partition.Options = "rw"
	if err := a.Host.Mount(partition); err != nil {
		return err
	}
	a.always(func() error { return a.Host.Unmount(partition.Target) })
	return nil
}

func (a *Action) recordUpgrade(digest string, recovery *state.System) error {
	f := a.recorded
	if f == nil {
		f = &state.File{}
	}
	ids, err := a.snapshots().IDs()
	if err != nil {
		return err
	}
	f.Snapshotter, f.Date = state.LoopDevice(), a.date()
	if f.State == nil {
		f.State = &state.Partition{Label: disk.LabelState}
	}
	if f.State.Snapshots == nil {
		f.State.Snapshots = map[int]*state.System{}
	}
	for id, system := range f.State.Snapshots {
		system.Active = false
		if !slices.Contains(ids, id) {
			delete(f.State.Snapshots, id)
		}
	}
	f.State.Snapshots[a.id] = a.system(digest, state.ActionUpgrade)
	if a.Recovery {
		a.recordRecovery(f, recovery)
	}
	return a.write(f)
}

// recordRecovery leaves source and digest of a recovery system that is recorded: the CLI does not update them.
func (a *Action) recordRecovery(f *state.File, written *state.System) {
	if f.Recovery == nil {
		f.Recovery = &state.Partition{Label: disk.LabelRecovery, Recovery: written}
	}
	if r := f.Recovery.Recovery; r != nil {
		r.Date, r.Labels, r.FromAction = f.Date, a.Labels, state.ActionUpgrade
	}
}

func (a *Action) system(digest, action string) *state.System {
	return &state.System{
		Source:     a.System.String(),
		Digest:     digest,
		Active:     true,
		Labels:     a.Labels,
		Date:       a.date(),
		FromAction: action,
	}
}
