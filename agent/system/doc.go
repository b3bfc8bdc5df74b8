// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package system is the boundary between the agent and its host: processes, files that must survive a crash, the clock. All other packages
// access the host through a Host, so that tests can replace it by a recording fake (package systemtest) and many agents can run in one
// process.
package system
