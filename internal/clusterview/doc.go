// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterview reads what a reconcile looks at of one Cluster: its Machines, ElementalMachines, hosts and attempts,
// and what the owners of its Machines want. It reads the manager's cache through indexes by cluster, so that a look costs as
// much as the Cluster is large, whatever else its namespace holds.
//
// What a View returns is the cache's own and must not be changed: nothing is copied. It may be late by a moment. Decisions
// that a stale read would get wrong read the API server instead; see docs/architecture.md.
package clusterview
