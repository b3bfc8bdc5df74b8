// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent tests the real agent process on hosts of the lab: its commands are test doubles, which
// behave like the elemental CLI, GRUB and systemd, and its API is package apitest. It covers what unit
// tests cannot: that the host ends up on the right snapshot, whatever happens in between.
package agent
