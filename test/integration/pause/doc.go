// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pause upgrades nodes that wait for a person's approval: all nodes from the beginning of a rollout, or
// selected ones, in a pool of three and in a pool of one, with as many concurrent Machine updates as Cluster API
// allows. It includes the test plans of Harvester's pausable node upgrades.
package pause
