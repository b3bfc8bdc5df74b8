// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storage is a test double of the storage system of a workload cluster: the kinds of Longhorn, of CSI snapshots
// and of Harvester's backups, without schemas and controllers. Type Longhorn writes Longhorn's objects as Longhorn
// would: on request, or following the cluster's Nodes, with replicas whose rebuild takes as long as requested, or never
// ends.
package storage
