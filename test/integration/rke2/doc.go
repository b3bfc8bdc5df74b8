// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rke2 upgrades hosts of control planes of RKE2, with the real managers of CAPRKE2. They cannot be built from a Go module: without
// the environment variable CAPRKE2_DIR, see docs/testing.md, the suite is skipped. RKE2 itself is played by the hosts.
package rke2
