// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent tries the real agent process on hosts of the lab: its commands are the doubles, which
// behave as the elemental CLI, GRUB and systemd do, and its API is package apitest. What is asked here
// is what no unit test can: that the host ends on the right snapshot, whatever happens on the way.
package agent
