// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restart tests, on the lab, what an upgrade survives: the death of the manager and of the
// agent at any of its steps, API server outages, power cuts, and people who withdraw their request.
// Whatever happens, an attempt must be carried out once and leave no mark behind.
package restart
