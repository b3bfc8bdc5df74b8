// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package systemtest has recording fakes for package system: processes with scripted results, and a clock that the test advances.
package systemtest
