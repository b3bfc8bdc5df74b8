// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package request validates a request for an upgrade, which is a change of the OS in an ElementalMachineTemplate: it rejects a request that
// could not start now, with everything that blocks it and what to do about it, and returns the plan on a dry run. It is only a convenience:
// the same checks block the rollout, and every node of it, if this webhook is bypassed, cannot reach the workload cluster, or times out.
package request
