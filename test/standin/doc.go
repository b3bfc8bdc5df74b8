// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standin is a stand-in for the elemental CLI on machines with real partitions: suites use it where no real CLI is given. What it does,
// in which order, is that of hosts of the lab (test/lab/double/cli, test/lab/double/install). This package makes it real: mounts, loop devices, file
// systems, processes of the same names, and the toolkit's engine for cloud-init files.
//
// As the real CLI it finds the partitions of the disk by their labels in /sys/block and /run/udev/data, below GHW_CHROOT if that is set.
//
// The files of "init" are its own, and only those that a host needs to boot by GRUB, to be assessed and to run its stages.
//
// It does not have the snapshotter btrfs, SELinux, signatures of images, an entry in the EFI's boot menu, stages on the kernel's command line, and an
// installation.
package standin
