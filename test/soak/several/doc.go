// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package several tries, on the lab, what happens at the same time: MachineDeployments of one cluster, clusters of one
// namespace, a rolled-back node beside a waiting one, and a change of the leader in the middle of it all. Never more
// nodes are disrupted than allowed, counted from the audit logs, and nothing waits for ever or without saying why.
package several
