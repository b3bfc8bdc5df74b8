// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package host runs hosts of the lab: each a directory and a goroutine that plays firmware, GRUB, init
// and kubelet over it, and runs the real elemental-agent as a process in it.
//
// A boot goes: GRUB chooses a snapshot (package grub), the kernel comes up or panics, /run is new, the
// yip files in /oem run, the kubelet and the agent start, and the boot assessment of the toolkit judges
// the boot, five tries compressed in time; an unhealthy boot is rebooted, and GRUB falls back. A
// reboot that a command on the host asks for stops the agent in good order first.
//
// What of an image makes a boot bad or slow is in its labels; see package source.
package host
