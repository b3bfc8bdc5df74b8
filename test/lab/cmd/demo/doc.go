// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo tells the story of the project on real parts: three workers are upgraded in place by one
// kubectl patch, a bad image falls back on the first of them, and a good one completes the rollout.
// It exits non-zero if anything was not so.
package main
