// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package request answers a person who asks for an upgrade by changing the OS of an ElementalMachineTemplate: it rejects
// what could not start now, with everything that is in the way and what to do about it, and tells the plan on a dry
// run. It is a courtesy: the same checks hold the rollout, and every node of it, where this one is not asked, cannot see
// the workload cluster, or runs out of time.
package request
