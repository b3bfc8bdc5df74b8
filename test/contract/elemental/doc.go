// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package elemental defines what the elemental CLI does to a host, as specs that run on the real CLI (test/native) and
// on its test double (test/lab/double), which must agree. Where the double differs, it may behave worse than the real
// CLI, never better.
package elemental
