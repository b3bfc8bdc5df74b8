// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package repository locates the repository for tests and the lab, which use its tools and manifests.
package repository
