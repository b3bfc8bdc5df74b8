// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apitest is an Elemental API for the agent's tests: the routes of internal/wire over TLS, one
// registration, everything in memory. It verifies tokens like the real one, keeps long-poll requests pending,
// records what was reported, and fails on demand.
package apitest
