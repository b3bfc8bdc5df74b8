// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package grub simulates the boot loader of a lab host: the environment block that grub2-editenv and
// GRUB itself read and write, and the choice that the elemental-toolkit's grub.cfg (v2.3.2), with its
// boot assessment, makes from two such blocks.
//
// Surprising properties of that choice are kept: while boot_assessment_check is "yes" GRUB ignores
// saved_entry; a fallback is chosen for one boot only; an entry whose image is missing makes GRUB try
// the entries of default_fallback in order, the active one first.
package grub
