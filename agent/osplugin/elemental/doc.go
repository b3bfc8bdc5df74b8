// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package elemental drives an Elemental OS: the elemental CLI, GRUB's environment, systemd, and yip
// files in /oem. It was written against elemental-toolkit v2.3.2 with the loopdevice snapshotter;
// btrfs works but for the removal of half-written snapshots, which snapper owns there.
//
// # The next boot
//
// GRUB boots next_entry, once, if it is set, and otherwise saved_entry. While boot_assessment_check is
// "yes" (every upgrade sets it, a good *active* boot clears it), the toolkit's bootassessment.cfg
// overrules saved_entry: "active" first, then the passive snapshots one by one. So a fallback is made
// sticky by
//
//	set saved_entry=passive<id>; unset boot_assessment_check, last_boot_attempt
//
// and the newest snapshot is chosen again by unsetting saved_entry and next_entry. An operator's
// boot_assessment_always_check=yes overrules saved_entry for good; then next_entry is set besides,
// which holds for one boot, and is set again in each boot by the agent.
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
// /oem. A reset that is cut off is begun anew by "elemental-agent run", which asks for recovery again
// as long as it finds its own mark that a reset was asked for.
package elemental
