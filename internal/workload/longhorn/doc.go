// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package longhorn is what an upgrade has to know of Longhorn's volumes in a workload cluster: which of them a node's
// going down endangers, and when they are as good again as they were. It reads Longhorn's objects as they are stored,
// without a dependency on Longhorn, and only where Longhorn is. What it judges by is read once, into a Snapshot; the
// judgements are pure functions of that. The only object that it writes is one Setting, see HoldReplenishment. Upgrades know it
// as a workload.Resident.
package longhorn
