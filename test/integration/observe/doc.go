// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe tests on the lab what an operator sees: the metrics of a real rollout, the status line of
// the cluster as a watch shows it, a host that falls back long after its upgrade, and upgrades by hand.
package observe
