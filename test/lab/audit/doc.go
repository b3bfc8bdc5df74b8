// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package audit counts from an API server's audit log, which misses nothing, where polling would.
package audit
