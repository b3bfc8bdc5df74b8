// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo shows the project on real components: three workers are upgraded in place by one kubectl
// patch, a bad image falls back on the first of them, and a good one completes the rollout. It exits
// non-zero if any expectation failed.
package main
