// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package elemental drives an Elemental OS: the elemental CLI, GRUB's environment, systemd, and yip
// files in /oem. It was written against elemental-toolkit v2.3.2 with its snapshotters, loopdevice and btrfs.
//
// # What the engine does with a file
//
// yip renders the content of files and commands as templates, see literal and yipContent. Steps of
// different files may run at the same time, see the stages.
//
// # The next boot
//
// GRUB boots next_entry, once, if it is set, and otherwise saved_entry. While boot_assessment_check is
// "yes" (every upgrade sets it, a good *active* boot clears it), the toolkit's bootassessment.cfg
// overrules saved_entry: "active" first, then the passive snapshots one by one. The entry "active" boots
// what the link .snapshots/active says, and grub_oem_env on the EFI partition lists the others
// (passive_snaps) and the order in which all are tried (default_fallback).
//
// The CLI leaves the link on a snapshot that was fallen back from, and lists every directory as a
// fallback. So what a host goes back to is made the toolkit's default, in this order:
//
//	.snapshots/active -> <id>/snapshot.img
//	set passive_snaps, default_fallback without the bad snapshot
//	unset saved_entry, next_entry, boot_assessment_check, last_boot_attempt
//
// and the bad snapshot is removed once another one runs. Every step leaves a host that boots something
// good. With btrfs the default is a subvolume, and GRUBs that know of no default subvolumes take the
// kernel of active_snap in grub_oem_env. In place of the first two:
//
//	set next_entry=passive<id>, which depends on neither
//	btrfs subvolume set-default <id>/snapshot, and sync
//	set active_snap, passive_snaps, default_fallback without the bad snapshot
//
// What state.yaml calls active is not gone by: the CLI writes it last, and leaves it as it is at a fallback.
//
// # Reset
//
// TriggerReset writes /oem/reset-cloud-config.yaml, a copy of the agent's configuration in
// /oem/elemental/agent/config.yaml, and next_entry=recovery. In recovery, yip runs from that file
//
//	elemental-agent reset --config /oem/elemental/agent/config.yaml
//	systemctl reboot
//
// Reset runs "elemental reset", puts the configuration back, and removes what the agent had left in
// /oem. A reset that is cut off is begun again by "elemental-agent run", which asks for recovery again
// as long as it finds its own mark that a reset was asked for.
package elemental
