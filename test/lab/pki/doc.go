// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki makes the lab's certificates: one authority for each cluster, and what it signs.
package pki
