// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Directories of the machine in the initramfs, which become those of the OS.
const (
	newRoot  = "/sysroot"
	stateDir = "/run/initramfs/elemental-state"
	efiDir   = "/run/elemental/efi"
	keptDir  = "/run/elemental/persistent"
	software = "/run/software"
	// machineUsr is /usr of the machine that the suite runs on, for a host whose init is systemd.
	machineUsr = "/run/machine-usr"
)

// partitions of the disk by number.
var partitions = []struct{ label, name, kind string }{
	2: {"COS_GRUB", "efi", "vfat"}, 3: {"COS_OEM", "oem", "ext4"}, 4: {"COS_RECOVERY", "recovery", "ext4"},
	5: {"COS_STATE", "state", "ext4"}, 6: {"COS_PERSISTENT", "persistent", "ext4"},
}

// initramfs does what the toolkit's modules for dracut do: it mounts the snapshot that GRUB has chosen, and what belongs to it, and starts the OS.
func initramfs() error {
	for _, step := range []func() error{mountKernel, loadModules, nameDevices, mountPartitions, mountMachine, mountSnapshot, mountIntoRoot, switchRoot} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func mountKernel() error {
	for _, each := range []struct{ kind, at string }{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/run"}} {
		if err := mount(each.kind, each.at, each.kind, 0, ""); err != nil {
			return err
		}
	}
	return nil
}

func mount(device, at, kind string, flags uintptr, options string) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(device, at, kind, flags, options); err != nil {
		return fmt.Errorf("mounting %s at %s: %w", device, at, err)
	}
	return nil
}

// loadModules loads the modules of the initramfs in the order of their dependencies.
func loadModules() error {
	order, err := os.ReadFile("/modules/order")
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(string(order)) {
		file, err := os.Open(filepath.Join("/modules", name))
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(file.Fd()), "", 0)
		_ = file.Close()
		lacking := strings.HasPrefix(name, "crc32c") && errors.Is(err, unix.ENODEV) // an instruction of the processor
		if err != nil && !errors.Is(err, unix.EEXIST) && !lacking {
			return fmt.Errorf("loading %s: %w", name, err)
		}
	}
	return nil
}

// nameDevices does what udev does for the disk, for the agent and the CLI.
func nameDevices() error {
	for number, each := range partitions {
		if each.label == "" {
			continue
		}
		device, err := os.ReadFile(fmt.Sprintf("/sys/block/vda/vda%d/dev", number))
		if err != nil {
			return err
		}
		said := fmt.Sprintf("E:ID_FS_LABEL=%s\nE:ID_PART_ENTRY_NAME=%s\nE:ID_FS_TYPE=%s\n", each.label, each.name, each.kind)
		for _, dir := range []string{"/run/udev/data", "/dev/disk/by-label"} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile("/run/udev/data/b"+strings.TrimSpace(string(device)), []byte(said), 0o644); err != nil {
			return err
		}
		if err := os.Symlink(fmt.Sprintf("../../vda%d", number), "/dev/disk/by-label/"+each.label); err != nil {
			return err
		}
	}
	return nil
}

// mountPartitions mounts them where the toolkit does. The kernel replays the journals of those that are ext4.
func mountPartitions() error {
	for _, each := range []struct {
		device, at, kind string
		flags            uintptr
	}{
		{"/dev/vda5", stateDir, "ext4", 0}, {"/dev/vda2", efiDir, "vfat", unix.MS_RDONLY}, {"/dev/vda3", "/run/oem", "ext4", 0},
		{"/dev/vda6", keptDir, "ext4", 0}, {"/dev/vdb", software, "ext4", unix.MS_RDONLY},
	} {
		if err := mount(each.device, each.at, each.kind, each.flags, ""); err != nil {
			return err
		}
	}
	return nil
}

// mountMachine mounts /usr of the suite's machine, where QEMU shares it.
func mountMachine() error {
	if shared, err := filepath.Glob("/sys/bus/virtio/drivers/9pnet_virtio/virtio*"); err != nil || len(shared) == 0 {
		return err
	}
	return mount("usr", machineUsr, "9p", unix.MS_RDONLY, "trans=virtio,version=9p2000.L,cache=loose,msize=262144")
}

// mountSnapshot mounts the snapshot of GRUB's choice.
func mountSnapshot() error {
	mode, image := argument("elemental.mode"), argument("elemental.image")
	if image == "" {
		image = "/.snapshots/active"
	}
	path, err := filepath.EvalSymlinks(stateDir + image)
	if err != nil {
		return err
	}
	if err := attach(path, "/dev/loop0"); err != nil {
		return err
	}
	tell("GRUB has chosen %s, %s", mode, strings.TrimPrefix(path, stateDir))
	if err := os.WriteFile("/run/elemental/"+mode+"_mode", nil, 0o644); err != nil {
		return err
	}
	return mount("/dev/loop0", newRoot, "ext2", unix.MS_RDONLY, "")
}

func attach(path, loop string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	device, err := os.OpenFile(loop, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = device.Close() }()
	config := unix.LoopConfig{Fd: uint32(file.Fd())}
	config.Info.Flags = unix.LO_FLAGS_READ_ONLY
	copy(config.Info.File_name[:], path)
	return unix.IoctlLoopConfigure(int(device.Fd()), &config)
}

// mountIntoRoot gives the OS its /usr, with the software that all images have in common, an /etc whose changes are lost, and what is kept over boots.
func mountIntoRoot() error {
	at := func(path string) string { return filepath.Join(newRoot, path) }
	if err := mount("etc", "/run/etc", "tmpfs", 0, ""); err != nil {
		return err
	}
	for _, dir := range []string{"/run/etc/upper", "/run/etc/work", keptDir + "/var"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	programs := software
	if hasSystemd() {
		programs += ":" + machineUsr
	}
	for _, each := range []struct {
		device, at, kind string
		flags            uintptr
		options          string
	}{
		{"usr", "usr", "overlay", unix.MS_RDONLY, "lowerdir=" + at("usr") + ":" + programs},
		{"etc", "etc", "overlay", 0, "lowerdir=" + at("etc") + ",upperdir=/run/etc/upper,workdir=/run/etc/work"},
		{keptDir + "/var", "var", "", unix.MS_BIND, ""}, {"/run/oem", "oem", "", unix.MS_BIND, ""}, {"tmp", "tmp", "tmpfs", 0, ""},
	} {
		if err := mount(each.device, at(each.at), each.kind, each.flags, each.options); err != nil {
			return err
		}
	}
	return nil
}

func switchRoot() error {
	if err := unix.Unmount("/run/oem", unix.MNT_DETACH); err != nil {
		return err
	}
	for _, each := range []string{"/proc", "/sys", "/dev", "/run"} {
		if err := unix.Mount(each, newRoot+each, "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("moving %s: %w", each, err)
		}
	}
	if err := os.Chdir(newRoot); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("moving the root: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	init := "/usr/sbin/os-init"
	if hasSystemd() {
		init = "/usr/lib/systemd/systemd"
	}
	return unix.Exec(init, []string{filepath.Base(init)}, []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"})
}

// hasSystemd reports whether systemd is the init of the OS.
func hasSystemd() bool {
	_, err := os.Stat(machineUsr)
	return err == nil
}

// argument of the kernel's command line; empty if there is none.
func argument(name string) string {
	line, _ := os.ReadFile("/proc/cmdline")
	for _, word := range strings.Fields(string(line)) {
		if value, found := strings.CutPrefix(word, name+"="); found {
			return value
		}
	}
	return ""
}
