// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package several tests, on the lab, concurrent operations: MachineDeployments of one cluster, clusters of one
// namespace, a rolled-back node next to a waiting one, and a leader change in the middle of it all. The audit logs
// must never show more disrupted nodes than allowed, and nothing may wait forever or without reporting why.
package several
