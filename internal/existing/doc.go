// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package existing reads objects that may not exist, and returns absence as a value instead of an error. A reader of it gets each object once, for the decisions
// of one moment.
package existing
