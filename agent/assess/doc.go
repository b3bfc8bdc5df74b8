// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package assess assesses a boot from within the host: the toolkit's own verdict, failed systemd units, the
// kubelet, and the user's checks.
//
// The kubelet passes if its unit is active, one of its processes runs, and it answers at the address in its own configuration. The
// caller verifies that a boot stays good with the same kubelet, by calling again and comparing Verdict.Kubelet.
//
// What an upgrade has not changed does not judge it. Boot and Checks compare with what Before found of the former OS: a check that fails for
// the same reason is a warning, since going back would not mend it. A unit or a job is the same if its name is, without the numbers that a
// device has in one boot. Units that are no part of the OS, such as those for connections, core dumps and containers, judge no boot.
//
// User checks are executables in
//
//	/etc/elemental/agent/assess/required.d   each has to exit with 0
//	/etc/elemental/agent/assess/wanted.d     a failure is only a warning
//
// They run one after another in the order of their names, once everything else has passed (Checks), each for at
// most CheckTimeout. The last line of output of a failing check becomes part of the message. A required check
// that fails is tried three times in all; a check that needs to wait longer has to do so itself.
//
// Executables in /etc/elemental/agent/pre-upgrade.d are run before anything of the OS is changed (BeforeUpgrade). The first that fails ends
// the attempt.
package assess
