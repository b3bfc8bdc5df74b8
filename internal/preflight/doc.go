// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preflight reports whether a node may be upgraded now: what stands against it, on which object, and what
// to do about it.
//
// A Snapshot is read of the management and the workload cluster, once for a pass. The checks are pure functions
// of it and of the Subject, the node at hand, so that one answer holds wherever it is asked for: before every
// node (controllers/hostupgrade), when an upgrade is requested (internal/webhooks), and in Cluster API's lifecycle hooks (hooks).
//
// What stands against it in KubeVirt or Longhorn is known to them: residents of the workload cluster bring their own
// checks, which are run among the others.
//
// What our own attempts leave behind, such as their cordon, never stands against an upgrade.
package preflight
