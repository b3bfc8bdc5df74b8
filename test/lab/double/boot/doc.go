// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package boot simulates a lab host from power-on to a running system: GRUB's choice, the kernel,
// what the initramfs and systemd create in /run, /proc and /etc, and the end of the boot assessment.
package boot
