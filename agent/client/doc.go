// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client is the client of the Elemental API: one method per route of internal/wire. It adds tokens,
// timeouts and typed errors. It never retries; callers decide that.
package client
