// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
)

// partition of the disk.
type partition struct {
	device, fs string
	// target is where it is mounted, or will be.
	target string
}

// names are those of the partitions in the table of the disk, by label.
var names = map[string]string{
	disk.LabelEFI: "efi", disk.LabelOEM: "oem", disk.LabelRecovery: "recovery", disk.LabelState: "state", disk.LabelPersistent: "persistent",
}

// targets are where the CLI mounts a partition that is not mounted.
var targets = map[string]string{
	disk.LabelEFI: disk.RunEFIDir, disk.LabelOEM: disk.NewOEMDir, disk.LabelRecovery: disk.RecoveryDir, disk.LabelState: disk.NewStateDir,
	disk.LabelPersistent: disk.NewPersistentDir,
}

// findPartitions finds the partitions as the kernel and udev tell of them.
func findPartitions() map[string]partition {
	root := os.Getenv("GHW_CHROOT")
	if root == "" {
		root = "/"
	}
	mounted := mountedDevices(filepath.Join(root, "proc/self/mounts"))
	found := map[string]partition{}
	numbers, _ := filepath.Glob(filepath.Join(root, "sys/block/*/*/dev"))
	for _, file := range numbers {
		number, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		properties := udevProperties(filepath.Join(root, "run/udev/data/b"+strings.TrimSpace(string(number))))
		device := "/dev/" + filepath.Base(filepath.Dir(file))
		for label, name := range names {
			if _, known := found[label]; known || properties["ID_FS_LABEL"] != label && properties["ID_PART_ENTRY_NAME"] != name {
				continue
			}
			target := mounted[device]
			if target == "" {
				target = targets[label]
			}
			found[label] = partition{device: device, fs: properties["ID_FS_TYPE"], target: target}
		}
	}
	return found
}

// udevProperties are those of a device in udev's database.
func udevProperties(file string) map[string]string {
	content, _ := os.ReadFile(file)
	properties := map[string]string{}
	for line := range strings.Lines(string(content)) {
		if name, value, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "E:"), "="); found {
			properties[name] = value
		}
	}
	return properties
}

// mountedDevices are the first targets of the devices in a mount table.
func mountedDevices(file string) map[string]string {
	content, _ := os.ReadFile(file)
	found := map[string]string{}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || found[fields[0]] != "" {
			continue
		}
		found[fields[0]] = fields[1]
	}
	return found
}

// Partition implements install.Partitions.
func (m *Machine) Partition(label string) (disk.Mount, bool) {
	found, exists := m.partitions[label]
	return disk.Mount{Device: found.device, Target: found.target}, exists
}

// File implements install.Partitions.
func (m *Machine) File(label string, parts ...string) string {
	return filepath.Join(append([]string{m.partitions[label].target}, parts...)...)
}

// PartitionDisk implements install.Partitions.
func (*Machine) PartitionDisk(string) error {
	return errors.New("the stand-in for the elemental CLI does not install: it needs hosts that are installed")
}

// Format implements install.Partitions.
func (m *Machine) Format(label string) error {
	of := m.partitions[label]
	return m.makeFileSystem(of.fs, label, of.device)
}

// makeFileSystem on a device, or in a file.
func (m *Machine) makeFileSystem(fs, label, on string) error {
	option := "-L"
	if strings.HasSuffix(fs, "fat") {
		option = "-n"
	}
	return m.run("mkfs."+fs, option, label, on)
}

// Mount implements install.Mounts.
func (m *Machine) Mount(mount disk.Mount) error {
	if err := os.MkdirAll(mount.Target, 0o777); err != nil {
		return err
	}
	if strings.HasSuffix(mount.Options, "bind") {
		return m.run("mount", "-o", "bind", mount.Device, mount.Target)
	}
	return m.run("mount", "-t", "auto", "-o", mount.Options, mount.Device, mount.Target)
}

// Remount implements install.Mounts.
func (m *Machine) Remount(target, options string) error {
	return m.run("mount", "-o", "remount,"+options, target)
}

// Unmount implements install.Mounts.
func (m *Machine) Unmount(target string) error { return m.run("umount", target) }

// MountedAt implements install.Mounts. The file system's "ro" counts as the mount's.
func (*Machine) MountedAt(target string) (found disk.Mount, mounted bool, err error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return found, false, err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		mount, system := strings.Fields(before), strings.Fields(after)
		if len(mount) < 6 || len(system) < 3 || mount[4] != target {
			continue
		}
		found, mounted = disk.Mount{Device: system[1], Target: target, Options: mount[5]}, true
		if superblock := (disk.Mount{Options: system[2]}); superblock.Mode() == "ro" {
			found.Options = system[2]
		}
	}
	return found, mounted, lines.Err()
}

// Attach implements install.Mounts.
func (m *Machine) Attach(file string) (string, error) {
	return m.output("losetup", "--show", "-f", file)
}

// Detach implements install.Mounts.
func (m *Machine) Detach(loop string) error { return m.run("losetup", "-d", loop) }

// Attached implements install.Mounts: of a snapshot with this number, on whichever disk.
func (m *Machine) Attached(snapshot int) (bool, error) {
	said, err := m.output("losetup", "-ln", "--output", "BACK-FILE")
	if err != nil {
		return false, err
	}
	image := "/" + disk.SnapshotsDir + "/" + strconv.Itoa(snapshot) + "/" + disk.SnapshotImage
	for line := range strings.Lines(said) {
		if strings.HasSuffix(strings.TrimSpace(line), image) {
			return true, nil
		}
	}
	return false, nil
}
