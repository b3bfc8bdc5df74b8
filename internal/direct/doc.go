// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package direct upgrades the hosts of Machines from a patched template, without a change of their owners. It leaves the owner and its reference
// alone, so that no rollout of the owner starts, writes the content of the patched template to the ElementalMachines, and makes for each the attempt that
// Cluster API's hook makes where a reference was changed. When a node has its turn, step Admit of its attempt decides. All state is in annotations of the ElementalMachines, which "clusterctl move" preserves, and
// in the attempts.
package direct
