// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package units holds the systemd units of the agent, for an OS image to copy to /usr/lib/systemd/system.
package units
