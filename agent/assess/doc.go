// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package assess judges a boot by what the host itself can see: the toolkit's own verdict, failed
// systemd units, the kubelet, and the user's checks.
//
// A kubelet is good when its unit is active, one of its processes runs, and it answers where its own configuration says. That a boot
// stays good, with the same kubelet, is for the caller to see: it asks again, and compares Verdict.Kubelet.
//
// User checks are executables in
//
//	/etc/elemental/agent/assess/required.d   each has to exit with 0
//	/etc/elemental/agent/assess/wanted.d     a failure is only a warning
//
// They run one after the other in the order of their names, once everything else is good (Checks), each for at
// most CheckTimeout. The last line that a failing check writes becomes part of the message. A
// required check that fails is tried three times in all; one that has to wait longer waits itself.
//
// Executables in /etc/elemental/agent/pre-upgrade.d are run before anything of the OS is changed (BeforeUpgrade). The first that fails ends
// the attempt.
package assess
