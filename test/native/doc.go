// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package native tests the agent with the elemental CLI, or its stand-in, on real partitions. A machine of this suite is a private mount and PID
// namespace whose root is the snapshot that GRUB would have booted, with a loop device for each partition of an
// installed host. The agent, the kernel's mounts and loop devices, rsync, mkfs and the toolkit's hooks are
// real; firmware, GRUB's choice (test/lab/double/grub), systemd, the kubelet and the Elemental API (agent/apitest)
// are simulated.
//
// It requires root, loop devices and Debian's packages of docs/testing.md. ELEMENTAL_BIN is the path of the CLI of the elemental
// toolkit v2.3.2; without it the specs that are labelled real-cli fail. A lock keeps two suites from running concurrently: each would treat the other's loop devices as its
// own, because the CLI does.
package native
