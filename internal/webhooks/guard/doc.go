// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guard keeps the template reference of MachineDeployments and control planes from being changed
// while Cluster API would delete a Machine instead of updating it in place, their specs from what would replace Machines while the host of one of them is
// upgraded, and controllers from deleting the last control plane
// Machine of a cluster. What it is called for is in config/webhook/guard.yaml.
package guard
