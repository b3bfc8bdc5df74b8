// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package double implements the commands that an elemental-agent finds on a host of the lab in place
// of the real ones: elemental, systemctl, reboot, grub2-editenv, losetup, df, mount, umount.
//
// They are one multi-call binary (test/lab/cmd/hostdouble) that selects the command by argv[0]. They
// access only files under $LAB_HOST_ROOT, never the machine they run on; the packages below this one
// implement the disk that they change. They behave as the real commands do, known defects included:
// those are described in the comments of these packages and verified by the table in this package's
// tests.
package double
