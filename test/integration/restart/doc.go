// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restart tries, on the lab, what an upgrade survives: the death of the manager and of the
// agent at any of its steps, API servers that are away, power cuts, and people who withdraw what they
// asked for. Whatever happens, an attempt is carried out once and leaves no mark behind.
package restart
