// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package osversion interprets osVersionManagement: which image it specifies, and whether two of them specify
// the same OS.
package osversion
