// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package repository tells tests and the lab where the repository is, whose tools and manifests they use.
package repository
