// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout computes the names and hashes of a rollout: the content of a template, the clone of it, the options
// of the rollout, and the attempt on each host. All functions are pure, so that two replicas, or one before and
// after a restart, compute the same names; otherwise they would create duplicates.
package rollout
