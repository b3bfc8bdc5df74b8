// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apitest is an Elemental API for the agent's tests: the routes of internal/wire over TLS, one
// registration, everything in memory. It checks tokens as the real one does, holds requests, records
// what it was told, and fails when it is asked to.
package apitest
