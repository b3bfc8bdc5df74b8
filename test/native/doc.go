// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package native tests the agent with the real elemental CLI. A machine of this suite is a private mount and PID
// namespace whose root is the snapshot that GRUB would have booted, with a loop device for each partition of an
// installed host. The agent, the CLI, the kernel's mounts and loop devices, rsync, mkfs and the toolkit's hooks are
// real; firmware, GRUB's choice (test/lab/double/grub), systemd, the kubelet and the Elemental API (agent/apitest)
// are simulated.
//
// It requires root, loop devices, Debian's packages of docs/testing.md and ELEMENTAL_BIN, the CLI of the elemental
// toolkit v2.3.2. A lock keeps two suites from running concurrently: each would treat the other's loop devices as its
// own, because the CLI does.
package native
