// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retry computes the backoff after a failure, for all of the agent.
package retry
