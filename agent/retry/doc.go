// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retry says how long to wait after a failure. It is the only place in the agent that does.
package retry
