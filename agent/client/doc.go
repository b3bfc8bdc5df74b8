// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client speaks to the Elemental API: one method per route of internal/wire. It adds tokens,
// time-outs and typed errors, and never retries: whoever calls knows what a failure means.
package client
