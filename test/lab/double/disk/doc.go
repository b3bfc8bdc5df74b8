// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package disk is the disk of a lab host: the layout under its root directory, the snapshots, which of
// them is booted and what is mounted. Nothing is actually mounted; the mount table is the file
// <root>/proc/self/mountinfo.
//
// Under the root, /run/initramfs/elemental-state is the state partition, /efi the EFI partition (which
// a running host also has at /run/elemental/efi), /oem the OEM partition and /lab/disk/recovery the
// recovery partition, which is not mounted in normal operation. The content of unmounted partitions,
// which on live media are all of them, is kept under /lab/disk/hidden.
package disk
