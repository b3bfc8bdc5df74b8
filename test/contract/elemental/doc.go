// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package elemental is what the elemental CLI does to a host, as cases that are run on the real one (test/native) and on its double
// (test/lab/double): they have to agree. What the double does otherwise, it may do worse, never better.
package elemental
