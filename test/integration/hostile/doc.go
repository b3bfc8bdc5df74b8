// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hostile tests what unauthorized clients can do to the real manager, next to Cluster API's real managers,
// which it must continue to serve.
package hostile
