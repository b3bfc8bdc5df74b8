// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scenario is a cluster of Elemental workers in the lab, and what an operator does to it. The demo
// tells it as a story and the integration tests assert on it.
package scenario
