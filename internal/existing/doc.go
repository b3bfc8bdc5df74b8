// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package existing reads objects that need not exist: what a controller observes is there or not, and either is a fact.
package existing
