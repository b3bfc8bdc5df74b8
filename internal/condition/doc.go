// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package condition sets the conditions of the provider's objects: a True condition has the reason "Ready",
// and the observed generation is the object's. All controllers use it.
package condition
