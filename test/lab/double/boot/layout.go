// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
)

// RouteTable has the kernel's routes for IPv4.
const RouteTable = "/proc/net/route"

// KubeletProcess is the /proc entry of the kubelet of a host that runs one.
const KubeletProcess = "/proc/812"

// Up creates what a freshly booted system finds: an empty /run except for its own files, the mounts, the
// mode, the boot ID and the os-release of its image.
func (s System) Up(d disk.Disk, bootID string) error {
	if err := Down(d); err != nil {
		return err
	}
	if err := each(s.unmounted(), d.Hide); err != nil {
		return err
	}
	files := map[string]string{
		"/run/elemental/" + s.Mode + "_mode": "1",
		"/proc/sys/kernel/random/boot_id":    bootID + "\n",
		"/proc/cmdline":                      s.cmdline(),
		"/etc/os-release":                    string(s.Image.OSRelease),
		RouteTable:                           s.routes(),
	}
	for path, content := range files {
		if err := d.WriteFile(path, []byte(content)); err != nil {
			return err
		}
	}
	if err := s.mount(d); err != nil {
		return err
	}
	return d.SetBooted(disk.Boot{ID: bootID, Mode: s.Mode, Snapshot: s.Snapshot})
}

// unmounted are the directories whose partitions the system does not mount.
func (s System) unmounted() []string {
	switch s.Mode {
	case grub.Recovery:
		return append(disk.Persistent(), disk.StateDir)
	case Live:
		return disk.Partitions()
	default:
		return nil
	}
}

// mount writes the mount table. Live media instead mounts its own tree, which can be installed.
func (s System) mount(d disk.Disk) error {
	if s.Mode == Live {
		return errors.Join(os.Symlink(d.Path(MediaDir), d.Path(LiveTree)), d.SetMounts(disk.LiveMounts()))
	}
	if err := os.Symlink("../../efi", d.Path(disk.RunEFIDir)); err != nil {
		return fmt.Errorf("mounting EFI partition: %w", err)
	}
	if _, err := d.Attach(d.HostPath(s.file(d))); err != nil {
		return fmt.Errorf("mounting root file system: %w", err)
	}
	if s.Mode == grub.Recovery {
		return errors.Join(d.ShowRecovery(), d.SetMounts(disk.RecoveryMounts()))
	}
	return d.SetMounts(disk.BootMounts())
}

// file is the file that the loop device of the root file system is attached to: never the symlink.
func (s System) file(d disk.Disk) string {
	if s.Snapshot > 0 {
		return d.Snapshot(s.Snapshot, disk.SnapshotImage)
	}
	return d.Recovery(disk.RecoveryImage)
}

func each(dirs []string, do func(string) error) error {
	for _, dir := range dirs {
		if err := do(dir); err != nil {
			return err
		}
	}
	return nil
}

// Down empties /run, as after a power-off. The state partition, which is mounted under it, is kept. What
// was written to the directory of an unmounted partition is lost.
func Down(d disk.Disk) error {
	if err := errors.Join(each(disk.Partitions(), d.Show), d.DetachAll()); err != nil {
		return err
	}
	if err := os.RemoveAll(d.Path(KubeletProcess)); err != nil {
		return fmt.Errorf("ending the kubelet: %w", err)
	}
	entries, err := os.ReadDir(d.Path("/run"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("emptying /run: %w", err)
	}
	for _, e := range entries {
		if e.Name() == filepath.Base(filepath.Dir(disk.StateDir)) {
			continue
		}
		if err := os.RemoveAll(d.Path("/run", e.Name())); err != nil {
			return fmt.Errorf("emptying /run: %w", err)
		}
	}
	return d.SetMounts(nil)
}

// Passed updates grubenv after a passed assessment: no boot is on trial any more, and if the active
// system was booted, no assessment is due. After a fallback the check stays due, so that the next boot
// tries the active system again.
func Passed(d disk.Disk) error {
	booted, err := d.Booted()
	if err != nil {
		return err
	}
	env, err := grub.Read(d.GrubEnv())
	if err != nil {
		return err
	}
	if booted.Mode == grub.Active {
		env.Unset(grub.BootAssessmentCheck)
	}
	env.Unset(grub.LastBootAttempt)
	return env.Write(d.GrubEnv())
}
