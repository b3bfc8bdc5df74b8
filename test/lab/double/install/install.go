// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
)

// Install writes the system to a disk that is not in use: snapshot 1 and the recovery system. It first removes what was
// there.
func (a *Action) Install(ctx context.Context) (err error) {
	defer func() { err = a.clean(err) }()
	if err := a.partitionDisk(); err != nil {
		return err
	}
	digest, err := a.newSystem(ctx)
	if err != nil {
		return err
	}
	if err := a.copyToRecovery(); err != nil {
		return err
	}
	f := a.newState(digest, state.ActionInstall)
	recovery := a.system(digest, state.ActionInstall)
	recovery.Active, recovery.FS = false, "squashfs"
	f.Recovery = &state.Partition{Label: "COS_RECOVERY", Recovery: recovery}
	return a.write(f)
}

// partitionDisk recreates all partitions and mounts them.
func (a *Action) partitionDisk() error {
	used, err := a.Disk.InUse()
	if err != nil {
		return err
	}
	if used {
		return errors.New("partitioning: parted: Error: Partition(s) on the disk are being used")
	}
	if err := os.RemoveAll(a.Disk.Recovery()); err != nil {
		return fmt.Errorf("partitioning: %w", err)
	}
	for _, dir := range disk.Partitions() {
		if err := a.Disk.Wipe(dir); err != nil {
			return fmt.Errorf("partitioning: %w", err)
		}
	}
	for _, mount := range disk.InstallMounts() {
		if err := a.Disk.Mount(mount); err != nil {
			return fmt.Errorf("mounting partitions: %w", err)
		}
		a.always(func() error { return a.Disk.Unmount(mount.Target) })
	}
	return nil
}

// copyCloudInit copies the given files under generated names, readable and writable by everybody. Source:
// elemental-toolkit v2.3.2, CopyCloudConfig.
func (a *Action) copyCloudInit() error {
	for i, path := range a.CloudInit {
		copied := a.Disk.OEM(fmt.Sprintf("9%d_custom.yaml", i))
		content, err := os.ReadFile(path)
		if err == nil {
			err = errors.Join(os.WriteFile(copied, content, 0o666), os.Chmod(copied, 0o666)) // independent of the umask
		}
		if err != nil {
			return fmt.Errorf("copying cloud-init: %w", err)
		}
	}
	return nil
}

// newSystem writes the system into the first snapshot of an empty state partition.
func (a *Action) newSystem(ctx context.Context) (digest string, err error) {
	if err := a.start(); err != nil {
		return "", err
	}
	if digest, err = a.deploy(ctx); err != nil {
		return "", err
	}
	err = errors.Join(a.copyCloudInit(), a.requireCheck(), a.labelEntries(), a.setOEMEnv(grub.DefaultMenuEntry, "Elemental"))
	if err != nil {
		return "", err
	}
	return digest, a.close()
}

func (a *Action) newState(digest, action string) *state.File {
	return &state.File{
		Date:        a.date(),
		Snapshotter: state.LoopDevice(),
		EFI:         &state.Partition{Label: "COS_GRUB"},
		OEM:         &state.Partition{Label: "COS_OEM"},
		Persistent:  &state.Partition{Label: "COS_PERSISTENT"},
		State: &state.Partition{
			Label:     "COS_STATE",
			Snapshots: map[int]*state.System{a.id: a.system(digest, action)},
		},
	}
}

// ErrNotInRecovery means that a reset was called outside the recovery system.
var ErrNotInRecovery = errors.New("reset can only be called from the recovery system")

// Reset reinstalls the recovery system, or another one if System is set. Everything else on the state partition is
// lost; FormatPersistent and FormatOEM select further partitions to wipe. It leaves /oem unmounted.
func (a *Action) Reset(ctx context.Context) (err error) {
	defer func() { err = a.clean(err) }()
	old, err := state.Read(a.Disk.Recovery(disk.StateFile))
	if err != nil {
		return err
	}
	if err := a.unmountAll(); err != nil {
		return err
	}
	a.always(a.unmountAll)
	if err := a.format(); err != nil {
		return err
	}
	fromRecovery := a.System.String() == ""
	if fromRecovery {
		a.System = source.Source{Kind: source.File, Value: a.Disk.Recovery(disk.RecoveryImage)}
	}
	digest, err := a.newSystem(ctx)
	if err != nil {
		return err
	}
	f := a.newState(digest, state.ActionReset)
	if fromRecovery {
		f.State.Snapshots[a.id].Source = old.Recovery.Recovery.Source
		f.State.Snapshots[a.id].Digest = old.Recovery.Recovery.Digest
	}
	f.Recovery = old.Recovery
	return a.write(f)
}

// format wipes partitions.
func (a *Action) format() error {
	wipe := []string{disk.StateDir}
	if a.FormatOEM {
		wipe = append(wipe, disk.OEMDir)
	}
	if a.FormatPersistent {
		wipe = append(wipe, disk.Persistent()...)
	}
	for _, dir := range wipe {
		if err := a.Disk.Wipe(dir); err != nil {
			return fmt.Errorf("formatting: %w", err)
		}
	}
	return nil
}

// unmountAll is what a reset leaves: nothing of the new system mounted, not even /oem. What is written to the empty
// directory in its place is lost.
func (a *Action) unmountAll() error {
	for _, target := range []string{disk.OEMDir, disk.RunEFIDir} {
		if err := a.Disk.Unmount(target); err != nil && !errors.Is(err, disk.ErrNotMounted) {
			return err
		}
	}
	return a.Disk.Hide(disk.OEMDir)
}
