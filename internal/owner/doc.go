// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package owner looks at the objects that make Machines from ElementalMachineTemplates: which of them
// refer to a template, which OS they want, and whether Cluster API would update their Machines in place. When their
// reference can be changed without Cluster API deleting a Machine is known to package capiworkaround.
package owner
