// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterupgrade decides in which order the nodes of a Cluster are upgraded while an ElementalClusterUpgrade says so: which of them is in
// force, what its stages are, and whether a node may begin now. The controller of ElementalClusterUpgrades acts and reports by it, and
// attempts ask it before they take a slot.
package clusterupgrade
