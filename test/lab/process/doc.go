// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs the lab's child processes: it starts them, detects unexpected exits, and stops,
// freezes or kills them. A child never outlives the lab.
package process
