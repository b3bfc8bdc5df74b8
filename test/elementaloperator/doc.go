// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package elementaloperator replaces the Elemental operator in tests: a CRD with the fields of a
// ManagedOSVersion that are read, and objects of it.
package elementaloperator
