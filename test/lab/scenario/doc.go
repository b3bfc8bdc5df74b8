// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scenario is a cluster of Elemental workers in the lab, and the actions of its operator. The demo
// and the integration tests share it.
package scenario
