// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upgrade carries out one attempt to upgrade the host to another OS, and resumes it after a crash at any
// point. Its only state is the marker, a file that is replaced atomically and flushed before any action
// that must not be repeated:
//
//	Fetching       the attempt is known; the image is resolved, checked against the free space, downloaded. In a marker
//	               of an older agent it may be Acknowledged before that, which is continued in the same way
//	Fetched        ready; waits for the trigger
//	Applying       (from here on nothing is undone) the remains of a killed upgrade are removed, the image is
//	               written; this repeats until the snapshot is complete and verified, or the tries are used up. If
//	               a snapshot was booted before that, the host first goes back to the former OS
//	Rebooting      the next boot is the new snapshot; the host is rebooted until its boot id changes
//	Assessing      the boot is assessed: booted snapshot, boot mode, digest, then package assess
//	Reverting      the desired snapshot booted but failed its assessment, or the boot loader fell back to one
//	               that did not run before: the former one is made the default, the host is rebooted
//	               (reported as Assessing)
//	Succeeded, Failed, RolledBack
//
// After a restart the phase in the marker, the boot id and the booted snapshot determine the next action.
// Success is determined by the booted snapshot, never by exit codes or by the default of the next boot:
// the CLI masks its exit codes, and the default changes before the reboot and stays on a bad snapshot
// after a fallback.
//
// A finished attempt stays in the marker and is reported again after every restart until the host gets
// another one, and is never carried out a second time.
//
// Limits, all of them in Policy and SpaceFactor: requests to a registry are tried 9 times (about four minutes) once the
// attempt is triggered; writing the image fails permanently after 3 failures, or 20 starts; a boot has 10 minutes to
// pass its assessment. Before the trigger the host waits for a registry, and for free space, as long as it takes.
package upgrade
