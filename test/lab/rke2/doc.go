// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rke2 has the manifests of CAPRKE2, Cluster API's provider for RKE2, whose managers the lab runs where they can be had. They
// cannot be built from a Go module: the environment variable CAPRKE2_DIR names a folder with control-plane-manager,
// bootstrap-manager and the folder crds, of v0.25.0 or later. See docs/testing.md.
package rke2
