// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package native tries the agent with the real elemental CLI. A machine of this suite is a private mount and PID namespace
// whose root is the snapshot that GRUB would have booted, with a partition on a loop device for each that an installed host
// has. Real are the agent, the CLI, the kernel's mounts and loop devices, rsync, mkfs and the toolkit's hooks; played are
// firmware, GRUB's choice (test/lab/double/grub), systemd, the kubelet and the Elemental API (agent/apitest).
//
// It needs root, loop devices, Debian's packages of docs/testing.md and ELEMENTAL_BIN, the CLI of the elemental toolkit
// v2.3.2. Two suites at a time would take each other's loop devices for their own, because the CLI does: a lock keeps them
// apart.
package native
