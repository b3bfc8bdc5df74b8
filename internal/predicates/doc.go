// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package predicates keeps controllers from being woken by writes of which they see nothing, and those that look at a whole
// cluster from being woken for each of several writes.
package predicates
