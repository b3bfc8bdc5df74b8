// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pause upgrades nodes that wait for a person: all of them from the beginning of a rollout, or those that are
// named, in a pool of three and in a pool of one, with as many Machines at a time as Cluster API is allowed. The test
// plans of Harvester's pausable node upgrades are among it.
package pause
