// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterviewtest fills a namespace with what a look at one Cluster must not look at.
package clusterviewtest
