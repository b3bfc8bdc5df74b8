// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package disk is the disk of a lab host: where everything lies beneath its root directory, which
// snapshots there are, which one is booted and what is mounted. Nothing is ever really mounted; the
// mount table is the file <root>/proc/self/mountinfo.
//
// Beneath the root, /run/initramfs/elemental-state stands for the state partition, /efi for the EFI
// partition (a running host has it at /run/elemental/efi too), /oem for the OEM partition and
// /lab/disk/recovery for the recovery partition, which is not mounted in normal operation. What is not
// mounted, as all of it on live media, lies beneath /lab/disk/hidden meanwhile.
package disk
