// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package double is the set of commands that an elemental-agent finds on a host of the lab in place of
// the real ones: elemental, systemctl, reboot, grub2-editenv, losetup, df, mount, umount.
//
// They are one multi-call binary (test/lab/cmd/hostdouble) that goes by the name it is called with.
// They work on the files beneath $LAB_HOST_ROOT alone, never on the machine they run on; the disk that
// they change is in the packages below this one. They behave as the real ones do, bad habits included:
// what is known of those is in the comments of those packages, and pinned by the table in this
// package's tests.
package double
