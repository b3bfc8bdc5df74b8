// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package specs runs the specs of a package, with one bound on how long a spec waits.
package specs
