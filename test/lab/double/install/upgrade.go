// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
)

// Upgrade writes the system into a new snapshot and makes it the default of the next boot.
func (a *Action) Upgrade(ctx context.Context) (err error) {
	defer func() { err = a.clean(err) }()
	a.load()
	if err := a.mountWritable(); err != nil {
		return err
	}
	if err := a.start(); err != nil {
		return err
	}
	digest, err := a.deploy(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(a.inTree(a.requireCheck), a.labelEntries()); err != nil {
		return err
	}
	if err := a.close(); err != nil {
		return err
	}
	if err := a.upgradeRecovery(); err != nil {
		return err
	}
	a.pace.reached(source.OnceUnrecorded)
	return a.recordUpgrade(digest)
}

// load reads the installation state, without which the CLI begins if it cannot be decoded.
// Source: elemental-toolkit v2.3.2, LoadInstallState.
func (a *Action) load() {
	f, err := state.Read(a.Disk.State(disk.StateFile))
	if err != nil {
		f = &state.File{Snapshotter: state.LoopDevice()}
	}
	a.recorded = f
}

// FailingStage is the hook stage in which something failed; empty if none did.
func (a *Action) FailingStage() string { return a.pace.labels[source.LabelFailingStage] }

// mountWritable remounts writable what an upgrade writes. What is writable already, because a killed upgrade left
// it so, stays writable afterwards.
func (a *Action) mountWritable() error {
	if err := a.remountEFI(); err != nil {
		return fmt.Errorf("mounting EFI partition: %w", err)
	}
	_, mounted, err := a.Disk.MountedAt(disk.RecoveryDir)
	if err != nil || mounted {
		return err
	}
	if err := a.Disk.Mount(disk.Mount{Device: "COS_RECOVERY", Target: disk.RecoveryDir, Options: "rw"}); err != nil {
		return fmt.Errorf("mounting recovery partition: %w", err)
	}
	a.always(func() error { return a.Disk.Unmount(disk.RecoveryDir) })
	return nil
}

func (a *Action) remountEFI() error {
	efi, mounted, err := a.Disk.MountedAt(disk.RunEFIDir)
	if err != nil || (mounted && efi.Options == "rw") {
		return err
	}
	if !mounted {
		a.always(func() error { return a.Disk.Unmount(disk.RunEFIDir) })
		return a.Disk.Mount(disk.Mount{Device: "COS_GRUB", Target: disk.RunEFIDir, Options: "rw"})
	}
	a.always(func() error { return a.Disk.Remount(disk.RunEFIDir, "ro") })
	return a.Disk.Remount(disk.RunEFIDir, "rw")
}

func (a *Action) upgradeRecovery() error {
	if !a.Recovery {
		return nil
	}
	return a.copyToRecovery()
}

// copyToRecovery also makes the new snapshot the recovery system.
func (a *Action) copyToRecovery() error {
	image, err := os.ReadFile(a.Disk.Snapshot(a.id, disk.SnapshotImage))
	if err != nil {
		return fmt.Errorf("deploying recovery system: %w", err)
	}
	if a.pace.labels[source.LabelKernel] == source.NoKernel {
		return errors.Join(errors.New("could not find kernel and/or initrd: no Kernel file found"), a.leakRecoveryTree())
	}
	path := a.Disk.Recovery(disk.RecoveryImage)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("deploying recovery system: %w", err)
	}
	return os.WriteFile(path, image, 0o644)
}

// leakRecoveryTree simulates that the CLI mounts the snapshot to find the kernel, and does not unmount it if there
// is none.
func (a *Action) leakRecoveryTree() error {
	loop, err := a.Disk.Attach(a.Disk.HostPath(a.Disk.Snapshot(a.id, disk.SnapshotImage)))
	if err != nil {
		return err
	}
	return a.Disk.Mount(disk.Mount{Device: loop, Target: disk.RecoveryTree, Options: "rw"})
}

// inTree runs a hook in the new tree, with the host's directories mounted there.
func (a *Action) inTree(hook func() error) error {
	targets := []string{"/dev", "/dev/pts", "/proc", "/sys", disk.OEMDir, disk.RunEFIDir}
	for _, target := range targets {
		if err := a.Disk.Mount(disk.Mount{Device: target, Target: disk.WorkingTree + target, Options: "rw,bind"}); err != nil {
			return err
		}
	}
	a.pace.reached(source.OnceInHook)
	err := hook()
	for _, target := range slices.Backward(targets) {
		err = errors.Join(err, a.Disk.Unmount(disk.WorkingTree+target))
	}
	return err
}

func (a *Action) recordUpgrade(digest string) error {
	f := a.recorded
	ids, err := a.Disk.Snapshots()
	if err != nil {
		return err
	}
	f.Date = a.date()
	if f.State == nil {
		f.State = &state.Partition{Label: "COS_STATE"}
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
	if a.Recovery && f.Recovery != nil && f.Recovery.Recovery != nil {
		// The CLI does not update the source and digest of the recovery system.
		r := f.Recovery.Recovery
		r.Date, r.Labels, r.FromAction = f.Date, a.Labels, state.ActionUpgrade
	}
	return a.write(f)
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

// InRecovery reports whether the host runs its recovery system.
func InRecovery(d disk.Disk) bool {
	booted, err := d.Booted()
	return err == nil && booted.Mode == grub.Recovery
}
