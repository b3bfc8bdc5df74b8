// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package condition is the one way in which the provider's controllers set the conditions of their
// objects: a True condition has the reason "Ready", and the observed generation is the object's.
package condition
