// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package systemtest has the recording fakes of package system: processes with scripted results, and
// a clock that is advanced by the test.
package systemtest
