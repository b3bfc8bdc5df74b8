// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inplace checks the preconditions for in-place updates: feature gates, the ExtensionConfig, the rollout strategy. If one is not
// met, Cluster API replaces Machines instead of updating them. They are checked before a reference is changed, because after that
// Cluster API does not call the provider any more. The package also has the names of our own extension's handlers and of its
// variable.
package inplace
