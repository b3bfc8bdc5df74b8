// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubevirt is all that is known here of KubeVirt: what becomes of each virtual machine of a Node that is
// about to go down (decide.go, pure), how they are made to leave it (evacuate.go) and how what was stopped is
// brought back (restore.go), and the preflight checks of KubeVirt (checks.go). Upgrades know it as a workload.Resident
// (resident.go). It reads and writes the workload cluster only, and keeps nothing of an evacuation: what that
// has to remember stands on the VirtualMachines and their migrations, with the attempt's id.
//
// Facts of KubeVirt are those of v1.7.0, and behaviour that is newer than v1.0 is looked for, not assumed.
package kubevirt
