// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package systemtest has the recording fakes of package system: processes that do what a test says, and
// a clock that only a test moves.
package systemtest
