// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki creates the lab's certificates: one CA for each cluster, and the certificates that it
// signs.
package pki
