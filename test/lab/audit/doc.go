// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package audit derives measurements from an API server's audit log, which is complete, unlike
// polling.
package audit
