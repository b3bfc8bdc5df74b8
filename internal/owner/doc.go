// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package owner reads the objects that create Machines from ElementalMachineTemplates: which of them refer to a
// template, which OS they want, and whether Cluster API would update their Machines in place. Package
// capiworkaround decides when their reference can be changed without Cluster API deleting a Machine.
package owner
