// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout has the records of rollouts: which there are of a template, which is the current one, and the names and hashes that attempts and
// content are known by.
package rollout
