// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upgrade carries out one attempt to bring the host to another OS, and survives whatever
// happens on the way. Its only memory is the marker, a file that is replaced atomically and flushed
// before anything is done that may not be done twice:
//
//	Acknowledged   the attempt is known
//	Fetching       the image is resolved, checked against the free space, downloaded
//	Fetched        ready; waits for the trigger
//	Applying       (from here on nothing is undone) what a killed upgrade left is removed, the image is
//	               written; this repeats until the snapshot is there, whole, or the tries are used up. A snapshot
//	               that was booted before that is left again first, for the former OS
//	Rebooting      the next boot is the new snapshot; the host is rebooted until its boot id changes
//	Assessing      the boot is judged: booted snapshot, boot mode, digest, then package assess
//	Reverting      the wanted snapshot booted but is bad, or the boot loader fell back to one that did not
//	               run before: the former one is made the default, the host is rebooted back (reported as
//	               Assessing)
//	Succeeded, Failed, RolledBack
//
// After a restart the phase in the marker, the boot id and the booted snapshot say what is next.
// Success is judged by the snapshot that is booted, never by exit codes and never by the next
// default: the CLI masks its exit codes, and the default flips before the reboot and stays on a bad
// snapshot after a fallback.
//
// A finished attempt stays in the marker and is reported again after every restart until the host is
// asked for another one, and is never carried out a second time.
//
// Limits, all of them in Policy and SpaceFactor: requests to a registry are tried 9 times (about four
// minutes); writing the image fails for good after 3 failures, or 20 starts; a boot has 10 minutes to
// be judged good.
package upgrade
