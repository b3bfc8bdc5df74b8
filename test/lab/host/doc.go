// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package host runs hosts of the lab. Each is a directory and a goroutine that simulates firmware,
// GRUB, init and the kubelet on it, and runs the real elemental-agent as a process.
//
// In a boot, GRUB chooses a snapshot (package grub), the kernel comes up or panics, /run is emptied,
// the yip files in /oem run, the kubelet and the agent start, and the toolkit's boot assessment checks
// the boot, with its five tries in much less time. After a failed assessment the host reboots, and GRUB
// falls back. A reboot that a command on the host requests first stops the agent gracefully.
//
// Labels of an image make its boot fail or slow; see package source.
package host
