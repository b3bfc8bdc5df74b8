// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package osversion reads osVersionManagement: which image is meant, and whether two of them mean the
// same OS.
package osversion
