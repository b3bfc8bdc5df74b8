// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
)

// Host is where the steps of an Action take effect: a host of the lab, which is a tree of files (Simulated), or a machine with partitions, mounts
// and loop devices of its kernel (test/standin).
type Host interface {
	Mounts
	Partitions
	Trees

	// InRecovery reports whether the recovery system runs.
	InRecovery() bool
	// Path is a path of the running system, for functions of package os.
	Path(parts ...string) string
	// HostPath is the inverse of Path.
	HostPath(path string) string

	// RunStage runs the cloud-init files of a stage in these directories of the host. What fails there is logged, and returned.
	RunStage(ctx context.Context, stage string, directories []string) error
	// Chroot calls a function while a path of the host is its root directory.
	Chroot(target string, do func() error) error
	// SetVariables sets variables of an environment block of GRUB, given as name, value, name, value.
	SetVariables(file string, pairs ...string) error
	// InstallBootloader copies the boot loader of a tree to the EFI partition.
	InstallBootloader(tree string) error
}

// Mounts of a host. Targets, and devices that are directories, are paths of the host.
type Mounts interface {
	// Mount mounts a device or, with the option bind, a directory. It creates the target.
	Mount(m disk.Mount) error
	// Remount changes the options, "ro" or "rw", of a target's topmost mount.
	Remount(target, options string) error
	// Unmount removes the topmost mount of a target.
	Unmount(target string) error
	// MountedAt is the topmost mount of a target. Its options contain "ro" or "rw".
	MountedAt(target string) (disk.Mount, bool, error)
	// Attach attaches a loop device to a file of the host, and returns its name.
	Attach(file string) (string, error)
	// Detach detaches a loop device.
	Detach(loop string) error
	// Attached reports whether a loop device is attached to the image of a snapshot, which the CLI takes for booted then.
	Attached(snapshot int) (bool, error)
}

// Partitions of a host, by their label.
type Partitions interface {
	// Partition is the device of a partition, where it is mounted or, if it is not, where the CLI mounts it, without options. The target is empty
	// for a partition that is not mounted by the CLI. The second result is false if there is no such partition.
	Partition(label string) (disk.Mount, bool)
	// File is a path on a partition that is mounted, for functions of package os.
	File(label string, parts ...string) string
	// PartitionDisk creates all partitions on a disk.
	PartitionDisk(device string) error
	// Format empties a partition that is not mounted.
	Format(label string) error
}

// Trees of operating systems, and file systems with them in image files. Paths are those of package os.
type Trees interface {
	// Deploy writes the tree of a source into a directory and returns the digest of the image; empty for a directory or file.
	Deploy(ctx context.Context, system source.Source, dir string) (digest string, err error)
	// MakeImage creates an image with an empty file system that has room for a tree.
	MakeImage(image, tree, label string) error
	// FillImage copies a tree into an image that is mounted at a path of the host.
	FillImage(image, tree, target string) error
	// CopyKernel copies kernel and initrd of a tree at a path of the host into a directory.
	CopyKernel(target, dir string) error
	// MakeRecovery creates the image of a recovery system with a tree at a path of the host.
	MakeRecovery(image, target string, of RecoveryImage) error
}

// RecoveryImage is the file system of a recovery system: squashfs, or another one with a label.
type RecoveryImage struct{ FS, Label string }
